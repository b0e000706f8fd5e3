"""PyTorch's tutorials on tools, precision, attention and compiling: `python performance.py TUTORIAL`."""

import sys
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn


def show(*values):
    """Sizes and sums of tensors, other things as they are."""
    for v in values:
        told = isinstance(v, torch.Tensor)
        print(f"{tuple(v.shape)} {v.double().abs().sum().item():.5f}" if told else v)


def network():
    """A small network from a seed."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def tensorboard():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    with tempfile.TemporaryDirectory() as folder:
        writer = SummaryWriter(folder)
        model, images = (
            network(),
            torch.rand(10, 1, 6, 6, generator=torch.Generator().manual_seed(0)),
        )
        writer.add_graph(model, torch.ones(2, 6))
        writer.add_image("four", images[0])
        writer.add_images("many", images)
        writer.add_embedding(images.view(-1, 36), metadata=list("abcdefghij"), label_img=images)
        writer.add_embedding(torch.eye(3), [["a", 1], ["b", 2], ["c", 3]], tag="pairs",
                             metadata_header=["name", "n"], global_step=7)  # fmt: skip
        figure = plt.figure()
        plt.plot([1, 2])
        writer.add_figure("figure", figure, global_step=1)
        writer.add_pr_curve("pr", torch.tensor([0, 1, 1]), torch.tensor([0.1, 0.8, 0.4]))
        for n in range(4):
            writer.add_scalar("Loss/train", 0.5**n, n)
            writer.add_scalars("two", {"sin": n, "cos": -n}, n)
            writer.add_histogram("weights", torch.arange(10.0) * n, n)
        writer.add_text("note", "hello", 0)
        writer.add_hparams({"lr": 0.1}, {"accuracy": 0.5}, run_name="one")
        writer.flush()
        writer.close()
        for file in sorted(p for p in Path(folder).rglob("*") if p.is_file()):
            if "tfevents" in file.name or file.suffix == ".png":
                print(file.parent.relative_to(folder), file.stat().st_size > 0)
            else:
                print(file.relative_to(folder), file.read_text()[:300])
        events = EventAccumulator(folder).Reload()
        tags = events.Tags()
        print(
            sorted(tags["scalars"]),
            sorted(tags["images"]),
            sorted(tags["histograms"]),
            tags["graph"],
        )
        print([(e.step, e.value) for e in events.Scalars("Loss/train")])


def profiler():
    from torch.profiler import ProfilerActivity, profile, record_function, schedule

    model = network()
    inputs = torch.randn(5, 6)
    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True
    ) as prof:
        with record_function("model_inference"):
            model(inputs)
    averages = prof.key_averages()
    print("model_inference" in prof.key_averages().table(sort_by="cpu_time_total", row_limit=10))
    print(
        sorted(
            e.key for e in averages if e.key in ("model_inference", "aten::linear", "aten::relu")
        )
    )
    print([e.count for e in averages if e.key == "aten::linear"])
    ready = []
    with tempfile.TemporaryDirectory() as folder:

        def trace_handler(p):
            ready.append(p.step_num)
            p.export_chrome_trace(folder + "/trace_" + str(p.step_num) + ".json")

        with profile(
            activities=[ProfilerActivity.CPU],
            schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
            on_trace_ready=trace_handler,
        ) as p:
            for _ in range(8):
                model(inputs)
                p.step()
        print(ready, sorted(f.name for f in Path(folder).iterdir()))
        with profile(
            with_stack=True, on_trace_ready=torch.profiler.tensorboard_trace_handler(folder)
        ) as p:
            model(inputs)
        print(any(f.name.endswith(".pt.trace.json") for f in Path(folder).iterdir()))
    with torch.autograd.profiler.profile() as p:
        model(inputs).sum().backward()
    print(p.total_average().count > 0)


def benchmark():
    import torch.utils.benchmark as benchmark

    def batched_dot_mul_sum(a, b):
        return a.mul(b).sum(-1)

    x = torch.randn(20, 8)
    t0 = benchmark.Timer(
        stmt="f(x, x)",
        globals={"x": x, "f": batched_dot_mul_sum},
        label="dot",
        sub_label="small",
        description="mul/sum",
        num_threads=1,
    )
    m = t0.timeit(20)
    print(type(m).__name__, m.number_per_run, m.median > 0)
    results = [t0.blocked_autorange(min_run_time=0.01)]
    print("dot" in str(benchmark.Compare(results)))


def benchmark_fuzzer():
    import torch.utils.benchmark as benchmark

    fuzzer = benchmark.Fuzzer(
        parameters=[
            benchmark.FuzzedParameter("k0", minval=1, maxval=100, distribution="loguniform")
        ],
        tensors=[benchmark.FuzzedTensor("x", size=("k0",), min_elements=1, max_elements=200)],
        seed=0,
    )
    for tensors, tensor_params, params in fuzzer.take(2):
        print(tensors["x"].shape, sorted(params), tensor_params["x"]["numel"])


def amp():
    torch.manual_seed(0)
    model, opt = network(), None
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", enabled=True)
    x, y = torch.randn(8, 6), torch.randn(8, 3)
    for _ in range(3):
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16, enabled=True):
            output = model(x)
            loss = F.mse_loss(output, y)
        print(output.dtype, loss.dtype, f"{loss.item():.4f}")
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.1)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
    print(scaler.get_scale(), sorted(scaler.state_dict()))


def attention():
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.attention.bias import causal_lower_right, causal_upper_left

    torch.manual_seed(0)
    q, k, v = (torch.rand(2, 2, 5, 8) for _ in range(3))
    show(
        F.scaled_dot_product_attention(q, k, v),
        F.scaled_dot_product_attention(q, k, v, is_causal=True),
    )
    with sdpa_kernel(SDPBackend.MATH):
        show(F.scaled_dot_product_attention(q, k, v, attn_mask=torch.ones(5, 5).tril().bool()))
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH], set_priority=True):
        show(F.scaled_dot_product_attention(q, k, v))
    upper, lower = causal_upper_left(3, 5), causal_lower_right(3, 5)
    print(type(upper).__name__, upper, lower)
    for bias in (upper, lower):
        show(F.scaled_dot_product_attention(q[:, :, :3], k, v, bias))
    keys = torch.rand(2, 1, 5, 8)
    show(F.scaled_dot_product_attention(q, keys, keys, enable_gqa=True, scale=0.3))

    class CausalSelfAttention(nn.Module):
        def __init__(self, heads, width):
            super().__init__()
            self.c_attn = nn.Linear(width, 3 * width, bias=False)
            self.c_proj = nn.Linear(width, width, bias=False)
            self.heads = heads

        def forward(self, x):
            batch, _, width = x.size()
            q, k, v = self.c_attn(x).chunk(3, -1)
            q, k, v = (
                t.view(batch, -1, self.heads, width // self.heads).transpose(1, 2)
                for t in (q, k, v)
            )
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.0, is_causal=True)
            return self.c_proj(y.transpose(1, 2).view(batch, -1, width))

    model = CausalSelfAttention(2, 8)
    x = torch.rand(2, 5, 8)
    show(model(x), torch.compile(model)(x))


def flex_attention():
    from torch.nn.attention.flex_attention import (
        and_masks,
        create_block_mask,
        flex_attention,
        or_masks,
    )

    torch.manual_seed(0)
    q, k, v = (torch.rand(1, 2, 256, 8) for _ in range(3))

    def causal(b, h, q_idx, kv_idx):
        return q_idx >= kv_idx

    def window(b, h, q_idx, kv_idx):
        return q_idx - kv_idx <= 32

    show(flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + (i - j) * 0.01))
    mask = create_block_mask(and_masks(causal, window), 1, None, 256, 256, device="cpu")
    print(mask.shape, mask.sparsity())
    show(flex_attention(q, k, v, block_mask=mask))
    prefix = create_block_mask(
        or_masks(causal, lambda b, h, i, j: j < 10), None, None, 256, 256, device="cpu"
    )
    out, lse = flex_attention(q, k, v, block_mask=prefix, return_lse=True)
    show(out, lse)
    print(mask.to_dense().shape)


def compiling():
    def foo(x, y):
        return torch.sin(x) + torch.cos(y)

    torch.manual_seed(0)
    x, y = torch.randn(4, 4), torch.randn(4, 4)
    show(torch.compile(foo)(x, y))

    @torch.compile
    def bar(a, b):
        x = a / (torch.abs(a) + 1)
        if b.sum() < 0:
            b = b * -1
        return x * b

    show(bar(x, y), bar(x, -y))
    model = network()
    compiled = torch.compile(model, mode="default", dynamic=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.01))

    @torch.compile(fullgraph=False)
    def step():
        optimizer.step()

    for _ in range(5):
        loss = compiled(x[:, :3].repeat(1, 2)).square().sum()
        optimizer.zero_grad()
        loss.backward()
        step()
        print(f"{loss.item():.6f}")
    print(type(compiled).__name__, list(compiled.state_dict())[:1])
    torch.compiler.reset()
    print(torch.compiler.is_compiling())

    explained = torch._dynamo.explain(foo)(x, y)
    print(explained.graph_break_count)

    @torch.compiler.disable
    def plain(x):
        return x + 1

    show(torch.compile(lambda v: plain(v) * 2)(x))
    program = torch.export.export(model, (torch.ones(2, 6),))
    show(program.module()(torch.ones(2, 6)))
    torch._dynamo.mark_dynamic(x, 0)
    print(torch.compiler.list_backends() is not None)


def compile_backends():
    def foo(x, y):
        return torch.sin(x) + torch.cos(y)

    def custom_backend(gm, example_inputs):
        print(type(gm).__name__, len(example_inputs), [n.op for n in gm.graph.nodes])
        return gm.forward

    show(torch.compile(foo, backend=custom_backend)(torch.ones(4), torch.ones(4)))


def quantization():
    import torch.ao.quantization as tq

    torch.manual_seed(0)
    x = torch.randn(4, 6)
    model = network().eval()
    dynamic = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
    print(type(dynamic[0]).__name__, f"{(dynamic(x) - model(x)).abs().max().item() < 0.1}")
    q = torch.quantize_per_tensor(x, 0.1, 10, torch.quint8)
    print(q.dtype, q.q_scale(), q.q_zero_point(), q.int_repr().sum().item())
    show(q.dequantize())
    fake = torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255)
    show(fake)

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.conv, self.relu = tq.QuantStub(), nn.Conv2d(1, 2, 3), nn.ReLU()
            self.dequant = tq.DeQuantStub()

        def forward(self, x):
            return self.dequant(self.relu(self.conv(self.quant(x))))

    m = M().eval()
    pictures = torch.randn(4, 1, 6, 6)
    expected = m(pictures)
    m.qconfig = tq.get_default_qconfig("x86")
    fused = tq.fuse_modules(m, [["conv", "relu"]])
    prepared = tq.prepare(fused)
    prepared(pictures)
    converted = tq.convert(prepared)
    print(type(converted.conv).__name__, (converted(pictures) - expected).abs().max().item() < 0.1)


def nested_tensors():
    torch.manual_seed(0)
    nt = torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)], requires_grad=True)
    print(nt.is_nested, nt.size(0), nt.dim(), [t.shape for t in nt.unbind()])
    padded = torch.nested.to_padded_tensor(nt, 0.0)
    show(padded)
    linear = nn.Linear(3, 2)
    show(*linear(nt).unbind())
    jagged = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    show(jagged.values(), jagged.offsets())


def masked_tensors():
    from torch.masked import as_masked_tensor, masked_tensor

    data, mask = (
        torch.arange(6.0).reshape(2, 3),
        torch.tensor([[True, False, True], [False, True, True]]),
    )
    mt = masked_tensor(data, mask)
    print(mt, mt.sum(), mt.mean(1), mt.get_data(), mt.get_mask(), mt.to_tensor(-1))
    print(as_masked_tensor(data, mask) + mt, torch.amax(mt, 1), mt.prod())
    x = torch.tensor([-10.0, 1.0], requires_grad=True)
    masked = masked_tensor(x, torch.tensor([False, True]), requires_grad=True)
    torch.exp(masked).sum().backward()
    print(masked.grad)


def masked_overview():
    import numpy as np
    from torch.masked import as_masked_tensor, masked_tensor

    data = torch.arange(24).reshape(2, 3, 4)
    mask = data % 2 == 0
    print(data, mask)
    mt = masked_tensor(data.float(), mask)
    print(mt[0], mt[:, :, 2:4], mt.shape, mt.dtype)
    x = torch.tensor([-10.0, -5, 0, 5, 10, 50, 60, 70, 80, 90, 100], requires_grad=True)
    y = torch.where(x < 0, torch.exp(x), torch.ones_like(x))
    y.sum().backward()
    print(x.grad)
    x = torch.tensor([-10.0, -5, 0, 5, 10, 50, 60, 70, 80, 90, 100])
    mask = x < 0
    mx = masked_tensor(x, mask, requires_grad=True)
    my = masked_tensor(torch.ones_like(x), ~mask, requires_grad=True)
    y = torch.where(mask, torch.exp(mx), my)
    y.sum().backward()
    print(mx.grad, my.grad)
    x, y = torch.tensor([1.0, 1.0], requires_grad=True), torch.tensor([0.0, 1.0])
    mask = y != 0
    loss = as_masked_tensor(x / y, mask)
    loss.sum().backward()
    print(x.grad)
    x = torch.tensor([1.0, 2.0, 3.0, float("nan")], requires_grad=True)
    mx = masked_tensor(x.detach(), ~torch.isnan(x))
    print(mx.sum(), torch.mean(mx), mx.mean(0), x.nanmean())
    table = masked_tensor(torch.arange(16).reshape(4, 4).float(), torch.eye(4).bool())
    print(torch.sum(table, 1), torch.mean(table), torch.prod(table, 0), torch.amin(table, 1))
    print(table.argmax(1), torch.std(table), np.float32(table.sum().item()))
    empty = masked_tensor(torch.ones(2, 2), torch.zeros(2, 2).bool())
    print(empty, empty.sum(), torch.amax(empty, 1), torch.cat([empty, empty]))


def masked_advanced_semantics():
    from torch.masked import as_masked_tensor, masked_tensor

    data = torch.arange(5.0)
    mask = torch.tensor([True, True, False, True, False])
    m0, m1 = masked_tensor(data, mask), masked_tensor(data, ~mask)
    print(m0, m1)
    try:
        m0 + m1
    except ValueError as error:
        print(error)
    print(m0.to_tensor(0) + m1.to_tensor(0), m0 + data, 2 * m0, m0 / 2, -m0, m0**2)
    both = m0.get_mask() & ~m0.get_mask()
    print(as_masked_tensor(m0.get_data() + m1.get_data(), both))
    data = torch.arange(9.0).reshape(3, 3) / 8
    mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    mt = masked_tensor(data, mask, requires_grad=True)
    print(torch.sum(mt, 1), torch.mean(mt, 1), torch.prod(mt, 1), torch.amin(mt, 1))
    print(mt.softmax(1), torch.sqrt(mt), mt > 0.3, mt.view(9), mt.t(), mt.reshape(1, 9)[:, 3:])
    (mt * mt).sum().backward()
    print(mt.grad, mt.grad.to_tensor(-1.0))
    try:
        torch.relu(mt)
    except TypeError as error:
        print(type(error).__name__)


def masked_sparsity():
    from torch.masked import masked_tensor

    values = torch.tensor([[0, 0, 3], [4, 0, 5]])
    mask = torch.tensor([[False, False, True], [False, False, True]])
    mt = masked_tensor(values, mask)
    sparse_coo = masked_tensor(values.to_sparse(), mask.to_sparse())
    print(sparse_coo, sparse_coo.get_data(), mt.to_sparse_coo().get_mask())
    dense = torch.tensor([[0.0, 2.0, 0.0], [4.0, 0.0, 6.0]])
    mask = dense > 0
    a, b = masked_tensor(dense.to_sparse_csr(), mask.to_sparse_csr()), masked_tensor(dense, mask)
    print(a, a.layout, a.is_sparse, a.is_sparse_csr(), a.is_sparse_coo(), b.is_sparse)
    print(a.sin(), a * a, a.sum(), a.amax(), a.mean(), a.to_dense(), b.to_sparse_csr())
    i = torch.tensor([[0, 1, 1], [2, 0, 2]])
    coo = torch.sparse_coo_tensor(i, torch.tensor([3.0, 4.0, 5.0]), (2, 3))
    mask = torch.sparse_coo_tensor(i, torch.tensor([True, False, True]), (2, 3))
    mt = masked_tensor(coo, mask)
    print(mt, mt + mt, torch.tanh(mt), mt.sum(), mt.prod(), mt.argmin(), mt.amin())
    try:
        mt + b.to_sparse()
    except ValueError as error:
        print(error)
    crow, col = torch.tensor([0, 2, 4]), torch.tensor([0, 1, 0, 1])
    csr = torch.sparse_csr_tensor(crow, col, torch.tensor([1.0, 2.0, 3.0, 4.0]))
    kept = torch.sparse_csr_tensor(crow, col, torch.tensor([True, False, False, True]))
    print(masked_tensor(csr, kept), masked_tensor(csr, kept).get_data().to_dense())


def masked_adagrad():
    from torch.masked import masked_tensor

    def make_sparse(grad, grad_indices, values):
        return torch.sparse_coo_tensor(grad_indices, values, grad.size())

    param = torch.arange(8).reshape(2, 4).float()
    i = torch.tensor([[0, 1, 1], [2, 0, 2]])
    grad = torch.sparse_coo_tensor(i, torch.tensor([3.0, 4.0, 5.0]), [2, 4])
    mask = torch.sparse_coo_tensor(i, torch.ones(3, dtype=torch.bool), [2, 4])
    state_sum = torch.full_like(param, 0.5)
    eps, clr = 1e-10, 0.1

    grad = grad.coalesce()
    indices, values = grad._indices(), grad._values()
    param1 = param.clone()
    state1 = state_sum.add(make_sparse(grad, indices, values.pow(2)))
    std_values = state1.sparse_mask(grad)._values().sqrt_().add_(eps)
    param1.add_(make_sparse(grad, indices, values / std_values), alpha=-clr)
    print(state1, param1)

    masked_grad = masked_tensor(grad, mask)
    print(masked_grad, masked_grad.pow(2).get_data())
    state2 = state_sum + masked_grad.pow(2).get_data()
    std2 = masked_tensor(state2.to_sparse(), mask)
    std2 = std2.sqrt().add(eps)
    print(std2, masked_grad / std2)
    param2 = param.clone().add_((masked_grad / std2).get_data(), alpha=-clr)
    print(param2, (param1 - param2).abs().max().item() < 1e-6)


def sparsity():
    torch.manual_seed(0)
    dense = torch.randn(8, 8) * (torch.rand(8, 8) > 0.7)
    for kind in (
        dense.to_sparse(),
        dense.to_sparse_csr(),
        dense.to_sparse_csc(),
        dense.to_sparse_bsr((2, 2)),
    ):
        print(kind.layout, tuple(kind.shape))
        show(kind @ torch.ones(8, 2), kind.to_dense())
    coo = torch.sparse_coo_tensor(
        [[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3), requires_grad=True
    )
    print(coo.coalesce().indices(), coo._nnz())
    torch.sparse.sum(coo).backward()
    print(coo.grad)


def semi_structured_sparsity():
    from torch.sparse import SparseSemiStructuredTensor, to_sparse_semi_structured

    print(SparseSemiStructuredTensor.__name__, callable(to_sparse_semi_structured))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
