#!/usr/bin/env python3
"""embed.py - the files of the dashboard's page as a C table, so that the program is one file.

usage: embed.py OUTPUT FILE...
"""
import os
import sys

TYPES = {'.html': 'text/html; charset=utf-8', '.css': 'text/css; charset=utf-8',
         '.js': 'text/javascript; charset=utf-8', '.svg': 'image/svg+xml'}


def main():
    out, files = sys.argv[1], sys.argv[2:]
    lines, table = ['#include "dash/web_int.h"', ''], []
    for i, path in enumerate(files):
        name = os.path.basename(path)
        with open(path, 'rb') as f:
            data = f.read()
        lines.append(f'static const unsigned char file{i}[] = {{ /* {name} */')
        lines += ['    ' + ', '.join(str(b) for b in data[at:at + 24]) + ',' for at in range(0, len(data), 24)]
        lines += ['};', '']
        where = '/' if name == 'index.html' else '/' + name
        table.append(f'    {{ "{where}", "{TYPES[os.path.splitext(name)[1]]}", file{i}, sizeof file{i} }},')
    lines += ['const struct page_file page_files[] = {', *table, '    { 0 },', '};', '']
    with open(out, 'w', encoding='ascii') as f:
        f.write('\n'.join(lines))


if __name__ == '__main__':
    main()
