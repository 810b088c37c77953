"""node_image - the image that the pods of a node run, made from the machine's static busybox: no registry is needed.

One layer with two names: that of the sandbox ("pause") and busybox:local.
"""
import hashlib
import io
import json
import os
import platform
import subprocess
import tarfile

from node_host import unpacked

PAUSE = 'registry.k8s.io/pause:3.6'
BUSYBOX = 'docker.io/library/busybox:local'
ARCHITECTURES = {'x86_64': 'amd64', 'aarch64': 'arm64'}
OCI = 'application/vnd.oci.image'


def layer():
    """A tar with busybox and a link for each of its commands."""
    busybox = unpacked('busybox-static', 'busybox')
    names = subprocess.run([busybox, '--list'], capture_output=True, text=True, check=True).stdout.split()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w') as tar:
        for folder in ('bin', 'dev', 'etc', 'proc', 'sys', 'tmp'):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        with open(busybox, 'rb') as f:
            data = f.read()
        entry = tarfile.TarInfo('bin/busybox')
        entry.mode, entry.size = 0o755, len(data)
        tar.addfile(entry, io.BytesIO(data))
        for name in set(names) - {'busybox'}:
            entry = tarfile.TarInfo(f'bin/{name}')
            entry.type, entry.linkname = tarfile.SYMTYPE, 'busybox'
            tar.addfile(entry)
    return out.getvalue()


def program_layer(name, path):
    """A tar with one program in its root."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w') as tar, open(path, 'rb') as f:
        entry = tarfile.TarInfo(name)
        entry.mode, entry.size = 0o755, os.fstat(f.fileno()).st_size
        tar.addfile(entry, f)
    return out.getvalue()


def write_image(path):
    """What all pods of a node need."""
    write_archive(path, layer(), (PAUSE, BUSYBOX), {'Env': ['PATH=/bin'], 'Cmd': ['/bin/sleep', '2147483647']})


def write_archive(path, content, names, config):
    """An OCI layout in a tar, for `ctr images import`: one layer under each of the names."""
    with tarfile.open(path, mode='w') as tar:
        def add(name, data):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))

        def blob(kind, data):
            """Its descriptor."""
            if not isinstance(data, bytes):
                data = json.dumps(data).encode()
            digest = hashlib.sha256(data).hexdigest()
            add(f'blobs/sha256/{digest}', data)
            return {'mediaType': f'{OCI}.{kind}', 'digest': f'sha256:{digest}', 'size': len(data)}

        files = blob('layer.v1.tar', content)
        config = blob('config.v1+json', {
            'architecture': ARCHITECTURES.get(platform.machine(), platform.machine()), 'os': 'linux',
            'config': config, 'rootfs': {'type': 'layers', 'diff_ids': [files['digest']]}})
        manifest = blob('manifest.v1+json', {
            'schemaVersion': 2, 'mediaType': f'{OCI}.manifest.v1+json', 'config': config, 'layers': [files]})
        add('oci-layout', b'{"imageLayoutVersion": "1.0.0"}')
        add('index.json', json.dumps({'schemaVersion': 2, 'manifests': [
            dict(manifest, annotations={'io.containerd.image.name': name}) for name in names]}).encode())
