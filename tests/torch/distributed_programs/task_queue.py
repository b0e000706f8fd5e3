"""Workers that take tasks from a TCPStore and put results, as raw bytes, back; then the ranks agree on them.

Usage: python task_queue.py PORT
"""

import struct
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

TASKS = 9


def pack(tensor):
    return struct.pack("<I", tensor.numel()) + tensor.numpy().tobytes()


def unpack(data):
    (count,) = struct.unpack("<I", data[:4])
    return torch.frombuffer(bytearray(data[4:]), dtype=torch.float32)[:count]


def work(store, number):
    seed = struct.unpack("<d", store.get(f"task/{number}"))[0]
    generator = torch.Generator().manual_seed(int(seed))
    store.append("log", bytes([255 - number]))
    store.set(f"result/{number}", pack(torch.rand(number + 1, generator=generator) - 0.5))


def run(rank, world_size, port):
    store = dist.TCPStore("127.0.0.1", port, world_size, rank == 0, timedelta(seconds=30))
    if rank == 0:
        for number in range(TASKS):
            store.set(f"task/{number}", struct.pack("<d", 1000.1 + number))
        store.set("ready", b"")
    store.wait(["ready"], timedelta(seconds=20))
    while (number := store.add("next", 1) - 1) < TASKS:
        work(store, number)
    results = store.multi_get([f"result/{number}" for number in range(TASKS)])
    total = torch.stack([unpack(data).sum() for data in results]).sum()
    owner = store.compare_set("owner", b"", b"\xff\xfe")
    print(
        f"rank {rank}: total {total:.5f}, log {sorted(store.get('log'))}, owner {owner!r}",
        flush=True,
    )

    tables = dist.PrefixStore("group", store)
    dist.init_process_group("gloo", store=tables, rank=rank, world_size=world_size)
    mean = total.clone()
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    print(f"rank {rank}: mean {mean:.5f}, checked {store.check(['owner', 'nobody'])}", flush=True)
    try:
        store.wait(["nobody"], timedelta(seconds=0.2))
    except dist.DistStoreError as error:
        print(f"rank {rank}: {type(error).__name__} {str(error).splitlines()[0]}", flush=True)
    dist.barrier()
    if rank == 0:
        print("deleted", store.delete_key("owner"), store.delete_key("owner"), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(run, args=(2, int(sys.argv[1])), nprocs=2)
