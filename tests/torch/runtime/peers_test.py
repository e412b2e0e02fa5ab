"""Processes of one training that move tensors by looking into each other's memory (process_vm_readv): PyTorch's RPC."""
import socket
import unittest

from runs import LIBRARY, run_python

# Weights, activations and gradients go to a parameter server of its own, and come back, in every iteration: in the
# profiled one, too, whose pages are shut.
SERVER = '''
import os, zlib
import torch, torch.nn as nn
import torch.multiprocessing as mp
import torch.distributed.rpc as rpc

def double(tensor):
    return tensor * 2

def train():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(12):
        hidden = model[1](model[0](torch.randn(64, 256)))
        sent = rpc.rpc_async("server", double, args=(hidden.detach(),))
        loss = model[2](hidden).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            parameter.grad = rpc.rpc_sync("server", double, args=(parameter.grad,))
        optimizer.step()
        print(float(loss).hex(), float(sent.wait().sum()).hex(), flush=True)
    print(zlib.crc32(b"".join(p.detach().numpy().tobytes() for p in model.parameters())))

def run(rank):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="FREE")
    rpc.init_rpc(["trainer", "server"][rank], rank=rank, world_size=2)
    if rank == 0:
        try:
            train()
        except BaseException as error:  # shutdown() would wait for the other one
            print(error, flush=True)
            os._exit(1)
    rpc.shutdown()

if __name__ == "__main__":
    server = mp.get_context("spawn").Process(target=run, args=(1,), daemon=True)
    server.start()
    run(0)
    server.join()
    print("server", server.exitcode)
'''


class Peers(unittest.TestCase):
    def served(self, **options):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        done = run_python(SERVER.replace("FREE", str(port)), **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_a_parameter_server(self):
        if run_python("import torch.distributed.rpc as r; raise SystemExit(not r.is_available())").returncode:
            self.skipTest("this PyTorch has no RPC")
        plain = self.served()
        self.assertEqual(len(plain.splitlines()), 14)
        self.assertEqual(self.served(preload=[LIBRARY]), plain)


if __name__ == "__main__":
    unittest.main(verbosity=2)
