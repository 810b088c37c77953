"""node_host - the place on this machine where a node of node.py lives, and how it is left clean.

Everything a node runs is in a process and a mount namespace of its own, so that ending one process, its init, ends
containerd, the kubelet, every shim and container, and with them every mount. What they would change on the machine
beside its cgroups goes into the node's directory: /run, /var/lib, /var/log and the kernel settings a kubelet writes.
The cgroups are the machine's real ones, below kubepods, where node agents look for them: so one node at a time.
"""
import contextlib
import fcntl
import os
import select
import shutil
import signal
import subprocess
import time

from lab import CACHE, Failed, NoCluster

# Locked by the process whose node runs; its text is the node's directory, which outlives a process that was killed.
LOCK = '/run/koord-test-node.lock'
LOCK_LIMIT_S = 600
END_LIMIT_S = 120
CGROUPS = '/sys/fs/cgroup'
KUBEPODS = 'kubepods'
HIDDEN = ('run', 'var/lib', 'var/log')
SETTINGS = ('vm/overcommit_memory', 'vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops',
            'kernel/keys/root_maxkeys', 'kernel/keys/root_maxbytes')
PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'


def unpacked(package, name):
    """A program of a package that scripts/setup has unpacked."""
    for folder in ('usr/bin', 'usr/sbin', 'bin', 'sbin'):
        path = f'{CACHE}/node/{package}/{folder}/{name}'
        if os.access(path, os.X_OK):
            return path
    raise NoCluster(f'no {name} in {CACHE}/node: run scripts/setup')


def read(path):
    with open(path, encoding='utf-8', errors='replace') as f:
        return f.read()


def write(path, text, mode=0o600):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    os.chmod(path, mode)


def processes(*start):
    """The processes whose command line starts with these words, as {id: words}."""
    found = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            with contextlib.suppress(OSError):
                words = read(f'/proc/{name}/cmdline').split('\0')[:-1]
                if words[:len(start)] == list(start):
                    found[int(name)] = words
    return found


def wait_until(what, good, limit):
    until = time.monotonic() + limit
    while not good():
        if time.monotonic() >= until:
            raise Failed(f'{what}: not so after {limit:.0f} s')
        time.sleep(0.05)


def controllers():
    """Where each cgroup tree starts: the controllers of version 1, or the one tree of version 2 under ''."""
    if os.path.exists(f'{CGROUPS}/cgroup.controllers'):
        return {'': CGROUPS}
    return {name: f'{CGROUPS}/{name}' for name in sorted(os.listdir(CGROUPS))}


def kubepods():
    """The trees that have one."""
    return [top for root in controllers().values() if os.path.isdir(top := f'{root}/{KUBEPODS}')]


def remove_cgroups():
    """True when none is left. A cgroup can go once the last process in it has, which takes a moment."""
    for top in kubepods():
        for folder, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
    return not kubepods()


def kill(pid):
    """Returns when it has ended. That of an init is the last end in its namespace: the kernel sees to that."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    with os.fdopen(fd, 'rb', buffering=0):
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(fd, signal.SIGKILL)
        if not select.select([fd], [], [], END_LIMIT_S)[0]:
            raise Failed(f'process {pid} does not end')


def end(folder):
    """Ends whatever runs in that directory's namespaces, and removes its cgroups."""
    init = ['/bin/sh', f'{folder}/init']
    # Also the unshare that is about to start it; one that waits for it has a moment to end by itself.
    while found := {pid: words for pid, words in processes().items() if words[-2:] == init}:
        for pid in [pid for pid, words in found.items() if words == init] or found:
            kill(pid)
        time.sleep(0.05)
    wait_until(f'the cgroups of {folder} are gone', remove_cgroups, END_LIMIT_S)


def lock_file():
    return os.fdopen(os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), 'r+', encoding='utf-8')


def name_owner(lock, folder):
    lock.seek(0)
    lock.truncate()
    lock.write(folder)
    lock.flush()


def remove_leftover(lock):
    """What a killed process has left; the caller has the lock."""
    lock.seek(0)
    folder = lock.read()
    if folder:
        end(folder)
        if os.path.isfile(f'{folder}/init'):
            shutil.rmtree(folder)
        name_owner(lock, '')


def clean(folder):
    """Removes the node of that directory, if one was left there; waits for its owner to end."""
    if os.path.exists(LOCK) and read(LOCK) == folder:
        with lock_file() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if read(LOCK) == folder:
                remove_leftover(lock)


class Host:
    """One at a time on a machine. Everything in `folder`: start() empties it, stop() leaves it for its logs."""

    def __init__(self, folder):
        self.folder = folder
        self.lock = None
        self.shell = None

    def start(self):
        if os.geteuid() != 0:
            raise NoCluster('a node needs root')
        if any(self.folder.startswith(f'/{name}/') for name in HIDDEN):
            raise Failed(f'{self.folder}: a node cannot live there')
        self._take_lock()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._enter()

    def _take_lock(self):
        self.lock = lock_file()

        def taken():
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
        try:
            wait_until('the node of another test has ended', taken, LOCK_LIMIT_S)
            remove_leftover(self.lock)
            if kubepods():
                raise NoCluster(f'{kubepods()[0]} is there already: a kubelet runs on this machine')
        except BaseException:
            self.lock.close()
            self.lock = None
            raise
        name_owner(self.lock, self.folder)

    def _enter(self):
        # Pods may ask to see what is mounted later: a node's mounts are shared, here within its namespace.
        script = ['set -e', 'mount --make-rshared /', 'mount -t proc proc /proc']
        for name in SETTINGS:
            if os.path.exists(f'/proc/sys/{name}'):
                write(f'{self.folder}/settings/{name}', read(f'/proc/sys/{name}'))
                script.append(f'mount --bind {self.folder}/settings/{name} /proc/sys/{name}')
        for name in HIDDEN:
            os.makedirs(f'{self.folder}/{name}', exist_ok=True)
            script.append(f'mount --bind {self.folder}/{name} /{name}')
        # A shell that waits for one child also buries those that others have left to it.
        script += [f': >{self.folder}/entered', 'while :; do sleep 86400; done', '']
        write(f'{self.folder}/init', '\n'.join(script))
        with open(f'{self.folder}/init.log', 'ab') as log:
            self.shell = subprocess.Popen(
                ['unshare', '--mount', '--pid', '--fork', '--propagation', 'private', '/bin/sh', f'{self.folder}/init'],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

        def entered():
            if self.shell.poll() is not None:
                why = read(f'{self.folder}/init.log').strip()
                raise (NoCluster if 'not permitted' in why else Failed)(f'namespaces: {why}')
            return os.path.exists(f'{self.folder}/entered')
        wait_until('the namespaces are there', entered, END_LIMIT_S)

    def spawn(self, name, *words, path=PATH):
        """Starts a program inside; its output goes to NAME.log."""
        init = next(iter(processes('/bin/sh', f'{self.folder}/init')), None)
        if init is None:
            raise Failed(f'{name}: the node has ended')
        with open(f'{self.folder}/{name}.log', 'ab') as log:
            return subprocess.Popen(['nsenter', f'--target={init}', '--mount', '--pid', '--', *words],
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                    env={'PATH': path, 'HOME': '/root', 'LANG': 'C.UTF-8'})

    def stop(self):
        if self.lock is None:
            return
        try:
            end(self.folder)
            if self.shell is not None:
                self.shell.wait()
            name_owner(self.lock, '')
        finally:
            self.lock.close()
            self.lock = None
