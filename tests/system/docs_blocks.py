"""docs_blocks.py - the commands of a page of docs/, as tests run them.

A block of commands begins with ```sh and is run. One that cannot run where tests do has no language, and the line above it
says so where readers see it: *Not run as a test: the reason.*
"""
import collections
import re

from lab import ROOT

Block = collections.namedtuple('Block', 'heading text runs reason')
NOT_RUN = re.compile(r'^ *\*Not run as a test: (.+)\.\*$')
NO_COMMANDS = ('text', 'yaml', 'json', 'mermaid', 'c')


def blocks(page):
    """The blocks of commands of docs/PAGE.md. A block without a language and without a reason has the reason None."""
    found, heading, above, inside = [], '', '', None
    with open(f'{ROOT}/docs/{page}.md', encoding='utf-8') as f:
        for line in f.read().splitlines():
            fence = re.match(r'^( *)```(\w*)$', line)
            if inside is not None:
                if fence:
                    if language not in NO_COMMANDS:
                        why = NOT_RUN.match(above)
                        found.append(Block(heading, '\n'.join(inside) + '\n', language == 'sh', why.group(1) if why else None))
                    inside, above = None, ''
                else:
                    inside.append(line.removeprefix(indent))
            elif fence:
                inside, (indent, language) = [], fence.groups()
            elif line.startswith('#'):
                heading = line.lstrip('# ')
            elif line.strip():
                above = line
    return found


def commands(text):
    """Commands with their here documents, each with the lines it is made of."""
    out, end = [], None
    for line in text.splitlines():
        if end:
            out[-1] += '\n' + line
            end = None if line == end else end
            continue
        if out and out[-1].endswith('\\'):
            out[-1] += '\n' + line
        else:
            out.append(line)
        here = re.search(r"<<'(\w+)'$", line)
        end = here.group(1) if here else None
    return out


def check_marks(report, page):
    """Every block runs or says why not."""
    all_of_it = blocks(page)
    bare = [b.text.splitlines()[0] for b in all_of_it if not b.runs and not b.reason]
    report.check(f'docs/{page}.md: blocks that do not run say why', not bare, bare)
    for b in all_of_it:
        if b.reason:
            print(f'# docs/{page}.md: not run: {b.text.splitlines()[0]}: {b.reason}')
    runs = sum(b.runs for b in all_of_it)
    print(f'# docs/{page}.md: {runs} blocks run, {len(all_of_it) - runs} do not')
    return [b for b in all_of_it if b.runs]
