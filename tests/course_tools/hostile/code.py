"""Code that a submission runs when it is imported, one class of attack each.

VICTIM stands for a folder of the teacher's, OTHER for another submission, PLANT for a name that no
file and no process should get, KEY for a number that nothing shared should get, PORT for a port on
which somebody listens, GRADER for the number of the process that grades. `_C` calls the C library, past everything that Python could refuse. Task 1.1 is
not solved in any of them: no point is earned.
"""

from __future__ import annotations

_C = "import ctypes, os, time\nlibc = ctypes.CDLL(None, use_errno=True)\n"
_FDS = "import os\nfor fd in range(1, 64):\n    try:\n        os.write(fd, TEXT)\n    except OSError:\n        pass\n"
_TELL = "raise RuntimeError('found: ' + str(FOUND)[-300:])\n"

ENDLESS: dict[str, str] = {
    "sleeps": "import time\ntime.sleep(1e6)\n",
    "sleeps in C": _C + "libc.sleep(1000000)\n",
    "loops for ever": "while True:\n    pass\n",
    "waits for input": "import sys\nsys.stdin.readline()\nsys.stdin.buffer.raw.read(1)\n",
    "ignores every signal": (
        "import signal, time\nfor n in signal.valid_signals():\n    try:\n"
        "        signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError):\n        pass\n"
        "while True:\n    time.sleep(1)\n"
    ),
    "swallows every exception": (
        "import time\nwhile True:\n    try:\n        time.sleep(1)\n"
        "    except BaseException:\n        pass\n"
    ),
    "closes its answers and sleeps": ("import os, time\nos.closerange(0, 256)\ntime.sleep(1e6)\n"),
    "a thread holds the end": (
        "import threading, time, os\n"
        "threading.Thread(target=time.sleep, args=(1e6,)).start()\nraise SystemExit\n"
    ),
    "loops at exit": (
        "import atexit\ndef loop():\n    while True:\n        pass\n"
        "atexit.register(loop)\nraise SystemExit\n"
    ),
    "loops in a destructor": (
        "import sys\nclass Loop:\n    def __del__(self):\n        while True:\n            pass\n"
        "sys.loop = Loop()\ndel sys.loop\n"
    ),
    "a regular expression without end": "import re\nre.match('(a+)+$', 'a' * 64 + 'b')\n",
    "a power without end": "x = 10 ** 10 ** 9\n",
    "becomes another program": "import os\nos.execv('/bin/sleep', ['sleep', '1000000'])\n",
    "becomes another program in C": (
        _C + "libc.execl(b'/bin/sleep', b'sleep', b'1000000', None)\nlibc.pause()\n"
    ),
    "floods its answers": (
        "import os\nwhile True:\n    for fd in range(1, 32):\n        try:\n"
        "            os.write(fd, b'x' * 65536)\n        except OSError:\n            pass\n"
    ),
    "prints without end": "while True:\n    print('x' * 65536)\n",
    "a line without end": (
        "import os, sys\nwhile True:\n    for fd in range(3, 16):\n        try:\n"
        "            os.write(fd, b'[' * 65536)\n        except OSError:\n            pass\n"
    ),
    "starts threads without end": (
        "import threading, time\nwhile True:\n    try:\n"
        "        threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()\n"
        "    except BaseException:\n        time.sleep(0.01)\n"
    ),
    "an exception that loops when shown": (
        "class E(Exception):\n    def __str__(self):\n        while True:\n            pass\nraise E\n"
    ),
}
"""These have to be ended."""

PROCESSES: dict[str, str] = {
    "a child holds the pipe": "import os, time\nif os.fork() == 0:\n    time.sleep(1e6)\n",
    "a child holds the pipe, in C": _C + "if libc.fork() == 0:\n    libc.sleep(1000000)\n",
    "forks without end": "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        break\n",
    "forks without end, in C": (_C + "for _ in range(40):\n    libc.fork()\nlibc.sleep(1000000)\n"),
    "a daemon": (
        _C + "if libc.fork() == 0:\n    libc.setsid()\n    if libc.fork() == 0:\n"
        "        os.closerange(0, 64)\n        libc.sleep(1000000)\n    libc._exit(0)\n"
    ),
    "a daemon that ignores signals": (
        _C + "import signal\nfor n in range(1, 32):\n    try:\n"
        "        signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError):\n        pass\n"
        "if libc.fork() == 0:\n    libc.setsid()\n    if libc.fork() == 0:\n"
        "        libc.sleep(1000000)\n    libc._exit(0)\n"
    ),
    "a daemon that forks away from its killer": (
        _C + "if libc.fork() == 0:\n    libc.setsid()\n    end = time.time() + 20\n"
        "    while time.time() < end:\n        if libc.fork() > 0:\n            libc._exit(0)\n"
    ),
    "a daemon under another name, without an environment": (
        _C + "if libc.fork() == 0:\n    libc.setsid()\n    if libc.fork() == 0:\n"
        "        nothing = (ctypes.c_char_p * 1)(None)\n"
        "        words = (ctypes.c_char_p * 3)(b'PLANT', b'1000000', None)\n"
        "        libc.execve(b'/bin/sleep', words, nothing)\n    libc._exit(0)\n"
    ),
    "leaves its control group": (
        _C
        + "import glob\nfor path in glob.glob('/sys/fs/cgroup/**/cgroup.procs', recursive=True):\n"
        "    fd = libc.open(path.encode(), 1)\n    libc.write(fd, b'0', 1)\n"
        "for _ in range(20):\n    if libc.fork() == 0:\n        libc.sleep(1000000)\n"
    ),
    "runs a program from memory": (
        _C + "fd = libc.memfd_create(b'PLANT', 0)\ncode = open('/bin/sleep', 'rb').read()\n"
        "libc.write(fd, code, len(code))\nif libc.fork() == 0:\n"
        "    words = (ctypes.c_char_p * 3)(b'PLANT', b'1000000', None)\n"
        "    libc.fexecve(fd, words, (ctypes.c_char_p * 1)(None))\n    libc._exit(0)\n"
    ),
    "nohup": (
        "import subprocess\nsubprocess.Popen(['nohup', 'sleep', '1000000'], start_new_session=True)\n"
    ),
    "removes files with rm": "import subprocess\nsubprocess.run(['rm', '-rf', 'VICTIM'])\n",
    "removes files with a shell": "import os\nos.system('rm -rf VICTIM')\n",
    "removes files with a shell, in C": _C + "libc.system(b'rm -rf VICTIM')\n",
    "removes files with posix_spawn": (
        "import os\nos.posix_spawn('/bin/rm', ['rm', '-rf', 'VICTIM'], {})\n"
    ),
    "vfork and exec in C": (
        _C
        + "if libc.syscall(58) == 0:\n    libc.execl(b'/bin/rm', b'rm', b'-rf', b'VICTIM', None)\n"
        "    libc._exit(0)\n"
    ),
    "kills its parent": _C + "libc.kill(os.getppid(), 9)\n",
    "kills its parents": (
        _C + "for pid in range(os.getppid(), max(os.getppid() - 300, 2), -1):\n"
        "    try:\n        words = open(f'/proc/{pid}/cmdline', 'rb').read()\n"
        "    except OSError:\n        words = b'supervise'\n"
        "    if any(word in words for word in (b'supervise', b'hostile', b'spawn_main')):\n"
        "        libc.kill(pid, 9)\n"
    ),
    "kills its group": _C + "libc.killpg(0, 9)\nlibc.kill(0, 15)\n",
    "stops its parent": _C + "libc.kill(os.getppid(), 19)\n",
    "traces its parent": (
        _C + "if libc.ptrace(16, os.getppid(), None, None) == 0:\n"
        "    libc.ptrace(8, os.getppid(), None, None)\n"
    ),
    "writes into its parent's memory": (
        _C + "try:\n    with open(f'/proc/{os.getppid()}/mem', 'r+b', 0) as f:\n"
        "        f.seek(0x400000)\n        f.write(b'x')\nexcept OSError:\n    pass\n"
    ),
    "kills itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
    "takes away its limits": (
        "import resource\nfor n in range(16):\n    try:\n"
        "        resource.setrlimit(n, (resource.RLIM_INFINITY,) * 2)\n"
        "    except (OSError, ValueError):\n        pass\n"
    ),
    "becomes root": _C + "libc.setuid(0)\nlibc.setresuid(0, 0, 0)\n",
    "leaves its namespaces": (
        _C + "libc.unshare(0x10000000 | 0x20000)\nlibc.mount(b'none', b'/', None, 0x20, None)\n"
        "try:\n    libc.setns(os.open('/proc/1/ns/mnt', os.O_RDONLY), 0)\nexcept OSError:\n    pass\n"
    ),
    "kills the grader through the owner of a pipe": (
        "import fcntl, os\nreader, writer = os.pipe()\n"
        "for command, value in ((8, GRADER), (10, 9), (4, 0o24000)):\n"
        "    fcntl.fcntl(reader, command, value)\nos.write(writer, b'x')\n"
    ),
    "slows the grader down": (
        _C + "libc.sched_setscheduler(GRADER, 5, ctypes.byref(ctypes.c_int(0)))\n"
        "libc.sched_setaffinity(GRADER, 8, ctypes.byref(ctypes.c_ulong(1)))\n"
        "libc.setpriority(0, GRADER, 19)\nlibc.syscall(251, 1, GRADER, 3 << 13)\n"
    ),
    "limits the grader": (
        "import resource\nresource.prlimit(GRADER, resource.RLIMIT_NOFILE, (256, 256))\n"
    ),
}
"""These start, end or trace processes."""

USE: dict[str, str] = {
    "fills memory": "hoard = []\nwhile True:\n    hoard.append(bytearray(64 << 20))\n",
    "fills memory and survives": (
        "hoard = []\nwhile len(hoard) < 10000:\n    try:\n        hoard.append(bytearray(64 << 20))\n"
        "    except MemoryError:\n        break\n"
    ),
    "maps memory": (
        "import mmap\nhoard = []\nwhile True:\n    m = mmap.mmap(-1, 256 << 20)\n"
        "    for at in range(0, 256 << 20, 4096):\n        m[at] = 1\n    hoard.append(m)\n"
    ),
    "fills memory with files in memory": (
        _C + "while True:\n    fd = libc.memfd_create(b'x', 0)\n    if fd < 0:\n        break\n"
        "    for _ in range(64):\n        if libc.write(fd, b'x' * (1 << 20), 1 << 20) < 0:\n"
        "            break\n"
    ),
    "fills memory in children": (
        _C + "for _ in range(20):\n    if libc.fork() == 0:\n        x = b'x' * (400 << 20)\n"
        "        libc.sleep(1000)\nlibc.sleep(1000)\n"
    ),
    "fills the disk": (
        "n = 0\nwhile n < 2000:\n    with open(f'f{n}', 'wb') as f:\n"
        "        f.write(b'x' * (16 << 20))\n    n += 1\n"
    ),
    "fills the disk with deleted files": (
        "import os\nhoard = []\nfor n in range(2000):\n    f = open('gone', 'wb')\n"
        "    hoard.append(f)\n    os.remove('gone')\n    f.write(b'x' * (16 << 20))\n    f.flush()\n"
    ),
    "makes files without end": (
        "n = 0\nwhile n < 500000:\n    open(f'f{n}', 'w').close()\n    n += 1\n"
    ),
    "makes folders without end": (
        "import os\nfor n in range(2500):\n    os.mkdir('d')\n    os.chdir('d')\n"
        "open('deep', 'w').write('x')\n"
    ),
    "makes folders that none may read": (
        "import os\nos.makedirs('a/b/c')\nopen('a/b/c/f', 'w').close()\nos.chmod('a/b/c', 0)\n"
        "os.chmod('a/b', 0)\nos.chmod('a', 0)\n"
    ),
    "recursion without end": "def f():\n    return f()\nf()\n",
    "overflows the stack": (
        "import sys\nsys.setrecursionlimit(10 ** 9)\n"
        "class A:\n    def __repr__(self):\n        return repr(self)\nrepr(A())\n"
        "def f():\n    return [f() for _ in range(1)]\nf()\n"
    ),
    "reads address 0": "import ctypes\nctypes.string_at(0)\n",
    "aborts": "import os\nos.abort()\n",
    "ends Python": "import os\nos._exit(0)\n",
    "ends Python in C": _C + "libc._exit(0)\n",
    "leaves quietly": "raise SystemExit(0)\n",
    "a signal's handler": (
        "import signal\ndef handler(*_):\n    raise KeyboardInterrupt\n"
        "signal.signal(signal.SIGALRM, handler)\nsignal.setitimer(signal.ITIMER_REAL, 0.05, 0.01)\n"
    ),
    "a trace function": (
        "import sys, threading\ndef trace(*a):\n    raise RuntimeError('no')\n"
        "sys.settrace(trace)\nthreading.settrace(trace)\n"
    ),
}
"""These use too much, or end oddly."""

FILES: dict[str, str] = {
    "removes files": (
        "import os, shutil\nshutil.rmtree('VICTIM', ignore_errors=True)\n"
        "try:\n    os.remove('VICTIM/precious.txt')\nexcept OSError:\n    pass\n"
    ),
    "removes files in C": _C + "libc.unlink(b'VICTIM/precious.txt')\n",
    "writes elsewhere": (
        "import os\nfor place in ('VICTIM/', '/tmp/', '/var/tmp/', '/dev/shm/', '/root/', OTHER):\n"
        "    try:\n        open(os.path.join(place, 'PLANT'), 'w').write('x')\n"
        "    except OSError:\n        pass\n"
    ).replace("OTHER", "'OTHER/minitorch/'"),
    "writes elsewhere in C": (
        _C
        + "for place in (b'VICTIM/', b'/tmp/', b'/var/tmp/', b'/dev/shm/', b'OTHER/minitorch/'):\n"
        "    libc.open(place + b'PLANT', 0o101, 0o666)\n    libc.mkdir(place + b'PLANT-d', 0o777)\n"
        "    libc.symlink(b'/', place + b'PLANT-l')\n    libc.mkfifo(place + b'PLANT-p', 0o666)\n"
    ),
    "writes through a link": (
        _C + "libc.symlink(b'VICTIM/precious.txt', b'way')\nfd = libc.open(b'way', 0o1001)\n"
        "libc.write(fd, b'x', 1)\nlibc.link(b'VICTIM/precious.txt', b'hard')\n"
        "fd = libc.open(b'hard', 0o1001)\nlibc.write(fd, b'x', 1)\n"
    ),
    "renames and truncates": (
        _C + "libc.truncate(b'VICTIM/precious.txt', 0)\n"
        "libc.rename(b'VICTIM/precious.txt', b'VICTIM/PLANT')\nlibc.chmod(b'VICTIM', 0)\n"
    ),
    "changes another submission": (
        _C + "fd = libc.open(b'OTHER/minitorch/autodiff.py', 0o1001)\nlibc.write(fd, b'1/0', 3)\n"
    ),
    "changes itself for the next task": (
        "import os\nhere = os.path.dirname(__file__)\nfor name in os.listdir(here):\n"
        "    try:\n        open(os.path.join(here, name), 'a').write('\\n1/0\\n')\n"
        "    except OSError:\n        pass\n"
    ),
    "writes into the Python installation": (
        _C
        + "for place in ('/', os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(os.__file__))):\n"
        "    libc.mount(None, place.encode(), None, 0x1020, None)\n"
        "    libc.open(os.fsencode(place) + b'/PLANT', 0o101, 0o666)\n"
    ),
    "leaves shared memory": (
        _C + "libc.shmget(KEY, 4096, 0o1666)\nlibc.semget(KEY, 1, 0o1666)\n"
        "libc.msgget(KEY, 0o1666)\nlibc.shm_open(b'/PLANT', 0o102, 0o666)\n"
    ),
    "leaves a message queue and a key": (
        _C + "libc.mq_open(b'/PLANT', 0o102, 0o666, None)\n"
        "libc.syscall(248, b'user', b'PLANT', b'x', 1, -4)\n"
    ),
    "changes what it may not open": (
        _C + "for name in (b'VICTIM/precious.txt', b'OTHER/minitorch/autodiff.py'):\n"
        "    libc.chmod(name, 0)\n    libc.chown(name, 12345, 12345)\n"
        "    libc.utimes(name, None)\n    libc.setxattr(name, b'user.PLANT', b'x', 1, 0)\n"
    ),
    "reads the teacher's files": ("FOUND = open('VICTIM/precious.txt').read()\n" + _TELL),
    "reads the teacher's files in C": (
        _C + "fd = libc.open(b'VICTIM/precious.txt', 0)\nb = ctypes.create_string_buffer(200)\n"
        "libc.read(fd, b, 200)\nFOUND = b.value\n" + _TELL
    ),
    "reads the teacher's files through a link": (
        _C + "libc.symlink(b'VICTIM', b'way')\nfd = libc.open(b'way/precious.txt', 0)\n"
        "b = ctypes.create_string_buffer(200)\nlibc.read(fd, b, 200)\nFOUND = b.value\n" + _TELL
    ),
    "reads the environment": "import os\nFOUND = dict(os.environ)\n" + _TELL,
    "reads its parents' environment": (
        "import glob, os\nFOUND = ''\nfor path in glob.glob('/proc/[0-9]*/environ'):\n"
        "    try:\n        text = open(path).read()\n    except OSError:\n        continue\n"
        "    at = text.find('TEACHERS_')\n    FOUND += text[at:at + 80] if at >= 0 else ''\n"
        + _TELL
    ),
    "reads its parents' environment in C": (
        _C + "FOUND = b''\nb = ctypes.create_string_buffer(100000)\npid = os.getppid()\n"
        "for pid in range(max(pid - 100, 1), pid + 1):\n"
        "    fd = libc.open(b'/proc/%d/environ' % pid, 0)\n    n = libc.read(fd, b, 100000)\n"
        "    at = b.raw[:max(n, 0)].find(b'TEACHERS_')\n"
        "    FOUND += b.raw[at:at + 80] if at >= 0 else b''\n" + _TELL
    ),
    "reads another submission": (
        "FOUND = open('OTHER/minitorch/autodiff.py').read()\nexec(FOUND)\n"
    ),
    "connects": (
        "import socket\ns = socket.create_connection(('127.0.0.1', PORT), 2)\ns.send(b'x')\n"
    ),
    "connects in C": (
        _C + "import struct\ns = libc.socket(2, 1, 0)\n"
        "a = struct.pack('<H', 2) + struct.pack('>H', PORT) + bytes([127, 0, 0, 1]) + bytes(8)\n"
        "libc.connect(s, a, 16)\n"
    ),
    "sends a datagram in C": (
        _C + "import struct\ns = libc.socket(2, 2, 0)\n"
        "a = struct.pack('<H', 2) + struct.pack('>H', PORT) + bytes([127, 0, 0, 1]) + bytes(8)\n"
        "libc.sendto(s, b'x', 1, 0, a, 16)\n"
    ),
}
"""These reach for files and the network."""

ANSWERS: dict[str, str] = {
    "answers nonsense": _FDS.replace("TEXT", "b'\\xff\\x00 nonsense \\n' * 100") + "os._exit(0)\n",
    "answers a deep list": _FDS.replace("TEXT", "b'[' * 60000 + b'\\n'") + "os._exit(0)\n",
    "answers a number too long": _FDS.replace("TEXT", "b'[0, ' + b'9' * 20000 + b']\\n'"),
    "answers with wrong types": _FDS.replace(
        "TEXT", 'b\'{"tests": 3, "probes": [], "error": 7}\\n[0, {"raises": 5}]\\n[-1, []]\\n\''
    ),
    "reports in its supervisor's place": _FDS.replace(
        "TEXT", 'b\'{"ready": "ok"}\\n{"kind": "ended", "status": 0}\\n\' * 9'
    ),
    "answers every number": (
        "import os\nfor n in range(200):\n    for fd in range(3, 16):\n        try:\n"
        "            os.write(fd, b'[%d, 0.0]\\n' % n)\n        except OSError:\n            pass\n"
    ),
    "duplicates its answers": (
        "import os\nfor fd in range(3, 16):\n    try:\n        os.dup2(1, fd)\n"
        "    except OSError:\n        pass\n"
    ),
    "answers millions of lists": _FDS.replace("TEXT", "b'[0, [' + b'[],' * 5_000_000 + b'0]]\\n'"),
    "answers millions of lines": _FDS.replace("TEXT", "b'\\n' * 15_000_000"),
    "blames millions of files": _FDS.replace(
        "TEXT", 'b\'[-1, {"import": "x", "files": [\' + b\'"",\' * 5_000_000 + b\'""]}]\\n\''
    )
    + "os._exit(0)\n",
    "a note with escape sequences": (
        "raise RuntimeError('\\x1b[2J\\x1b]0;owned\\x07\\x9b31m \\u202e \\r\\n passed\\n10/10')\n"
    ),
    "a note with a formula": "raise type('=cmd|1', (Exception,), {})('=HYPERLINK(1)')\n",
    "a note without end": "raise RuntimeError('x' * 50_000_000)\n",
    "a note that is no text": "raise RuntimeError('\\ud800' * 100)\n",
    "an exception that cannot be shown": (
        "class E(Exception):\n    def __str__(self):\n        raise SystemExit\n"
        "    __repr__ = __str__\nraise E\n"
    ),
}
"""These answer what was not asked."""

CODE = ENDLESS | PROCESSES | USE | FILES | ANSWERS
