"""browser.py - a real browser for tests: Debian's chromium-headless-shell, driven over --remote-debugging-pipe.

No driver and no package of Python: commands and events are JSON with a NUL behind, on descriptors 3 and 4 of the browser.
scripts/setup unpacks the browser with the libraries that the machine lacks.
"""
import base64
import contextlib
import glob
import json
import os
import queue
import subprocess
import threading
import time

from lab import CACHE, PATIENCE_S, Failed

TREE = os.path.join(CACHE, 'node', 'chromium-headless-shell')
PROGRAM = os.path.join(TREE, 'usr/lib/chromium/chromium-headless-shell')
KEYS = {'Tab': 9, 'Enter': 13, 'Escape': 27, ' ': 32, 'End': 35, 'Home': 36, 'ArrowLeft': 37, 'ArrowUp': 38, 'ArrowRight': 39,
        'ArrowDown': 40}


def available():
    return os.access(PROGRAM, os.X_OK)


class Browser:
    """One process; page() opens a page with cookies of its own."""

    def __init__(self, folder):
        # Fonts of the tree, where the machine has none of its own.
        with open(f'{folder}/fonts.conf', 'w', encoding='ascii') as conf:
            conf.write('<fontconfig><include ignore_missing="yes">/etc/fonts/fonts.conf</include>'
                       f'<dir>{TREE}/usr/share/fonts</dir><cachedir>{folder}/fonts</cachedir></fontconfig>')
        libraries = sorted(set(os.path.dirname(p) for p in glob.glob(f'{TREE}/usr/lib/*-linux-gnu*/**/*.so*', recursive=True)))
        to_browser, from_browser = os.pipe(), os.pipe()

        # bash, because sh knows descriptors of one digit only. The log is kept: a browser that does not start says why there.
        self.log = f'{folder}/browser.log'
        with open(self.log, 'wb') as log:
            self.p = subprocess.Popen(
                ['bash', '-c', f'exec "$0" "$@" 3<&{to_browser[0]} 4>&{from_browser[1]}', PROGRAM,
                 '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
                 '--disable-background-networking', '--disable-component-update', '--hide-scrollbars', '--lang=en-GB',
                 f'--user-data-dir={folder}/browser'],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(to_browser[0], from_browser[1]),
                env={**os.environ, 'LD_LIBRARY_PATH': ':'.join(libraries), 'TZ': 'UTC', 'HOME': folder,
                     'FONTCONFIG_FILE': f'{folder}/fonts.conf'})
        os.close(to_browser[0])
        os.close(from_browser[1])
        self.out, self.inp = os.fdopen(to_browser[1], 'wb'), os.fdopen(from_browser[0], 'rb')
        self.number = 0
        self.answers, self.pages = {}, {}
        self.trace, self.traced = [], threading.Event()
        self.lock = threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        rest = b''
        while True:
            data = self.inp.read1(1 << 20)
            if not data:
                break
            rest += data
            *messages, rest = rest.split(b'\0')
            for m in map(json.loads, messages):
                if 'id' in m:
                    self.answers[m['id']].put(m)
                elif m['method'] == 'Tracing.dataCollected':
                    self.trace += m['params']['value']
                elif m['method'] == 'Tracing.tracingComplete':
                    self.traced.set()
                elif m.get('sessionId') in self.pages:
                    self.pages[m['sessionId']].take(m['method'], m['params'])
        for q in list(self.answers.values()):
            q.put({'error': {'message': 'the browser has ended'}})

    def call(self, method, session=None, **params):
        with self.lock:
            self.number += 1
            number = self.number
            self.answers[number] = queue.Queue()
            message = {'id': number, 'method': method, 'params': params}
            if session:
                message['sessionId'] = session
            try:
                self.out.write(json.dumps(message).encode() + b'\0')
                self.out.flush()
            except OSError as e:
                raise Failed(f'the browser has ended: {self.last_words()}') from e
        try:
            answer = self.answers[number].get(timeout=PATIENCE_S)
        except queue.Empty as e:
            raise Failed(f'{method}: no answer of the browser') from e
        finally:
            del self.answers[number]
        if 'error' in answer:
            raise Failed(f'{method}: {answer["error"]["message"]} {self.last_words()}')
        return answer['result']

    def last_words(self):
        with open(self.log, encoding='utf-8', errors='replace') as f:
            return f.read()[-300:]

    @contextlib.contextmanager
    def tasks(self, to):
        """Appends (CPU time, time) in ms of every task of the pages' main threads. A machine that is busy with other
        things makes tasks longer, but not their CPU time."""
        self.trace.clear()
        self.traced.clear()
        self.call('Tracing.start', transferMode='ReportEvents', traceConfig={
            'includedCategories': ['disabled-by-default-devtools.timeline', 'devtools.timeline', '__metadata']})
        try:
            yield
        finally:
            self.call('Tracing.end')
            if not self.traced.wait(PATIENCE_S):
                raise Failed('the browser does not end its trace')
        main = {(e['pid'], e['tid']) for e in self.trace if e['name'] == 'thread_name' and e['args']['name'] == 'CrRendererMain'}
        to += [(e.get('tdur', 0) / 1000, e['dur'] / 1000) for e in self.trace
               if e['name'] == 'RunTask' and (e['pid'], e['tid']) in main and 'dur' in e]

    def page(self, width=1280, height=900, scheme='light'):
        context = self.call('Target.createBrowserContext')['browserContextId']
        target = self.call('Target.createTarget', url='about:blank', browserContextId=context)['targetId']
        session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        page = Page(self, session)
        self.pages[session] = page
        for domain in ('Page', 'Runtime', 'Network', 'Accessibility', 'DOM'):
            page.call(f'{domain}.enable')
        page.look(width, height, scheme)
        return page

    def close(self):
        try:
            self.call('Browser.close')
        except Failed:
            pass
        try:
            self.p.wait(10)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()


class Page:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session
        self.requests, self.complaints, self.files = [], [], {}  # files: what the page is made of, by request

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def take(self, event, params):
        if event == 'Network.requestWillBeSent':
            self.requests.append(params['request']['url'])
        elif event == 'Network.responseReceived' and params['type'] in ('Document', 'Script', 'Stylesheet', 'Image'):
            self.files[params['requestId']] = params['response']['url']
        elif event == 'Runtime.exceptionThrown':
            d = params['exceptionDetails']
            self.complaints.append(d.get('exception', {}).get('description') or d['text'])
        elif event == 'Runtime.consoleAPICalled' and params['type'] in ('error', 'assert'):
            self.complaints.append(' '.join(str(a.get('value')) for a in params['args']))

    def look(self, width, height, scheme):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme},
                                                          {'name': 'prefers-reduced-motion', 'value': 'reduce'}])

    def open(self, url):
        got = self.call('Page.navigate', url=url)
        if got.get('errorText'):
            raise Failed(f'{url}: {got["errorText"]}')
        self.until('the page to load', "document.readyState === 'complete'")

    def run(self, script):
        """The value of an expression in the page."""
        got = self.call('Runtime.evaluate', expression=script, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in got:
            raise Failed(f'{script[:80]}: {got["exceptionDetails"].get("exception", {}).get("description")}')
        return got['result'].get('value')

    def until(self, what, script, limit=PATIENCE_S):
        """The value of an expression once it is true, and how long that took."""
        start = time.monotonic()
        while True:
            got = self.run(script)
            if got:
                return got
            if time.monotonic() - start > limit:
                raise Failed(f'{what}: not in {limit:.0f} s')
            time.sleep(0.05)

    def key(self, key, shift=False):
        same = {'key': key, 'code': 'Space' if key == ' ' else key, 'windowsVirtualKeyCode': KEYS[key], 'modifiers': 8 if shift else 0}
        text = {'text': '\r'} if key == 'Enter' else {'text': ' '} if key == ' ' else {}
        self.call('Input.dispatchKeyEvent', type='keyDown', **same, **text)
        self.call('Input.dispatchKeyEvent', type='keyUp', **same)

    def type(self, text):
        self.call('Input.insertText', text=text)

    def shot(self, path):
        with open(path, 'wb') as f:
            f.write(base64.b64decode(self.call('Page.captureScreenshot', format='png', captureBeyondViewport=False)['data']))

    def tree(self):
        """The accessibility tree: (role, name) of every node that is not ignored."""
        return [(n['role']['value'], n.get('name', {}).get('value', '')) for n in self.call('Accessibility.getFullAXTree')['nodes']
                if not n.get('ignored') and 'role' in n]
