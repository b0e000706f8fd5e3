"""PyTorch's tutorials on derivatives and on functions of one's own: `python functions.py TUTORIAL`."""

import sys
import tempfile
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn


def show(*values):
    """Sizes and sums of tensors, other things as they are."""
    for v in values:
        told = isinstance(v, torch.Tensor)
        print(f"{tuple(v.shape)} {v.double().abs().sum().item():.6f}" if told else v)


class SimpleCNN(nn.Module):
    """The network of the tutorials on per-sample gradients."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, 1)
        self.conv2 = nn.Conv2d(4, 4, 3, 1)
        self.fc1 = nn.Linear(16, 8)
        self.fc2 = nn.Linear(8, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(x)))), 2)
        return F.log_softmax(self.fc2(F.relu(self.fc1(torch.flatten(x, 1)))), dim=1)


def per_sample_grads():
    from torch.func import functional_call, grad, vmap

    torch.manual_seed(0)
    model, data, targets = SimpleCNN(), torch.randn(6, 1, 8, 8), torch.randint(10, (6,))

    def compute_grad(sample, target):
        loss = F.nll_loss(model(sample.unsqueeze(0)), target.unsqueeze(0))
        return torch.autograd.grad(loss, list(model.parameters()))

    one_by_one = [compute_grad(data[i], targets[i]) for i in range(6)]
    slow = [torch.stack(shards) for shards in zip(*one_by_one, strict=True)]
    params = {k: v.detach() for k, v in model.named_parameters()}
    buffers = {k: v.detach() for k, v in model.named_buffers()}

    def compute_loss(params, buffers, sample, target):
        predictions = functional_call(model, (params, buffers), (sample.unsqueeze(0),))
        return F.nll_loss(predictions, target.unsqueeze(0))

    fast = vmap(grad(compute_loss), in_dims=(None, None, 0, 0))(params, buffers, data, targets)
    for a, b in zip(slow, fast.values(), strict=True):
        print(torch.allclose(a, b, atol=3e-3, rtol=1e-5))
        show(b)


def jacobians_hessians():
    from torch.func import functional_call, hessian, jacfwd, jacrev, jvp, vjp, vmap

    torch.manual_seed(0)
    D = 6
    weight, bias, x = torch.randn(D, D), torch.randn(D), torch.randn(D)

    def predict(weight, bias, x):
        return F.linear(x, weight, bias).tanh()

    xp = x.clone().requires_grad_()
    unit = torch.eye(D)
    rows = [torch.autograd.grad(predict(weight, bias, xp), xp, vec)[0] for vec in unit]
    show(torch.stack(rows))
    _, vjp_fn = vjp(partial(predict, weight, bias), x)
    (ft_jacobian,) = vmap(vjp_fn)(unit)
    show(ft_jacobian, jacrev(predict, argnums=2)(weight, bias, x))
    show(jacfwd(predict, argnums=2)(weight, bias, x))
    show(*jacrev(predict, argnums=(0, 1))(weight, bias, x))
    show(hessian(predict, argnums=2)(weight, bias, x))
    show(jacfwd(jacfwd(predict, argnums=2), argnums=2)(weight, bias, x))
    batched = torch.randn(5, D)
    show(vmap(jacrev(predict, argnums=2), in_dims=(None, None, 0))(weight, bias, batched))
    show(*jvp(partial(predict, weight, bias), (x,), (torch.ones(D),)))
    model = nn.Sequential(nn.Linear(D, 3), nn.Tanh(), nn.Linear(3, 1))
    params = dict(model.named_parameters())
    found = hessian(lambda p: functional_call(model, p, (x,)).sum())(params)
    show(found["0.weight"]["2.weight"], found["0.bias"]["0.bias"])

    def vhp(f, primals, tangents):
        _, vjp_fn = vjp(f, *primals)
        return vjp_fn(tangents)

    show(*vhp(partial(predict, weight, bias), (x,), torch.ones(D)))
    show(torch.autograd.functional.jacobian(partial(predict, weight, bias), x))
    show(torch.autograd.functional.hessian(lambda v: predict(weight, bias, v).sum(), x))


def ensembling():
    import copy

    from torch.func import functional_call, stack_module_state, vmap

    torch.manual_seed(0)
    models = [
        nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4)) for _ in range(5)
    ]
    data = torch.randn(3, 1, 4, 4)
    params, buffers = stack_module_state(models)
    base_model = copy.deepcopy(models[0]).to("meta")

    def fmodel(params, buffers, x):
        return functional_call(base_model, (params, buffers), (x,))

    expected = torch.stack([model(data) for model in models])
    found = vmap(fmodel, in_dims=(0, 0, None))(params, buffers, data)
    print(torch.allclose(expected, found, atol=1e-5))
    show(found, *params.values())
    each = vmap(fmodel)(params, buffers, torch.randn(5, 3, 1, 4, 4))
    show(each)
    dropout = vmap(lambda x: F.dropout(x, 0.5), randomness="different")(torch.ones(4, 6))
    print(dropout.shape)


def neural_tangent_kernels():
    from torch.func import functional_call, jacrev, jvp, vjp, vmap

    torch.manual_seed(0)
    net = SimpleCNN()
    params = {k: v.detach() for k, v in net.named_parameters()}
    x_train, x_test = torch.randn(3, 1, 8, 8), torch.randn(2, 1, 8, 8)

    def single(params, x):
        return functional_call(net, params, (x.unsqueeze(0),)).squeeze(0)

    def contraction(x1, x2):
        j1 = vmap(jacrev(single), (None, 0))(params, x1)
        j2 = vmap(jacrev(single), (None, 0))(params, x2)
        flat = [(j1[k].flatten(2), j2[k].flatten(2)) for k in j1]
        return torch.stack([torch.einsum("Naf,Mbf->NMab", a, b) for a, b in flat]).sum(0)

    def vector_products(x1, x2):
        def one(a, b):
            out, vjp_fn = vjp(lambda p: single(p, a), params)

            def through(vec):
                return jvp(lambda p: single(p, b), (params,), vjp_fn(vec))[1]

            return vmap(through)(torch.eye(out.numel()))

        return vmap(vmap(one, (None, 0)), (0, None))(x1, x2)

    a, b = contraction(x_train, x_test), vector_products(x_train, x_test)
    print(torch.allclose(a, b, atol=1e-4))
    show(a, torch.einsum("NMKK->NM", a))


def forward_mode_ad():
    import torch.autograd.forward_ad as fwAD

    torch.manual_seed(0)
    primal, tangent = torch.randn(4, 4), torch.randn(4, 4)

    def fn(x, y):
        return x**2 + y**2

    with fwAD.dual_level():
        dual = fwAD.make_dual(primal, tangent)
        print(fwAD.unpack_dual(dual).tangent is tangent)
        out = fn(dual, torch.randn(4, 4))
        show(fwAD.unpack_dual(out).tangent)
    print(fwAD.unpack_dual(out).tangent)
    model = nn.Linear(4, 4)
    tangents = {name: torch.rand_like(p) for name, p in model.named_parameters()}
    with fwAD.dual_level():
        for name, p in list(model.named_parameters()):
            delattr(model, name)
            setattr(model, name, fwAD.make_dual(p, tangents[name]))
        show(fwAD.unpack_dual(model(primal)).tangent)

    class Fn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, foo):
            result = torch.exp(foo)
            ctx.result = result
            return result

        @staticmethod
        def jvp(ctx, gI):
            gO = gI * ctx.result
            del ctx.result
            return gO

    with fwAD.dual_level():
        show(fwAD.unpack_dual(Fn.apply(fwAD.make_dual(primal, tangent))).tangent)
    show(*torch.func.jvp(torch.sin, (primal,), (tangent,)))


def custom_function_double_backward():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, grad_out):
            (x,) = ctx.saved_tensors
            return grad_out * 2 * x

    class Sinh(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            expx, expnegx = torch.exp(x), torch.exp(-x)
            ctx.save_for_backward(expx, expnegx)
            return (expx - expnegx) / 2, expx, expnegx

        @staticmethod
        def backward(ctx, grad_out, _grad_out_exp, _grad_out_negexp):
            expx, expnegx = ctx.saved_tensors
            return (
                (expx + expnegx) / 2 * grad_out + _grad_out_exp * expx - _grad_out_negexp * expnegx
            )

    torch.manual_seed(0)
    x = torch.rand(3, 3, requires_grad=True, dtype=torch.double)
    print(torch.autograd.gradcheck(Square.apply, x), torch.autograd.gradgradcheck(Square.apply, x))
    sinh = lambda v: Sinh.apply(v)[0]  # noqa: E731
    print(torch.autograd.gradcheck(sinh, x), torch.autograd.gradgradcheck(sinh, x))
    out = Square.apply(x)
    (grad_x,) = torch.autograd.grad(out, x, torch.ones_like(out), create_graph=True)
    grad_x.sum().backward()
    show(x.grad)


def custom_function_conv_bn():
    from torch.autograd.function import once_differentiable

    def bn_backward(grad_out, X, sum, sqrt_var, N, eps):
        tmp = ((X - sum.view(1, -1, 1, 1) / N) * grad_out).sum(dim=(0, 2, 3))
        tmp *= -1
        d_denom = tmp / (sqrt_var + eps) ** 2
        d_var = d_denom / (2 * sqrt_var)
        d_mean_dx = grad_out / (sqrt_var + eps).view(1, -1, 1, 1)
        grad = X * (d_var * 2 / (N - 1)).view(1, -1, 1, 1)
        grad += d_mean_dx + (-d_mean_dx.sum(dim=(0, 2, 3)) / N).view(1, -1, 1, 1)
        return grad - (d_var * 2 * sum / N / (N - 1)).view(1, -1, 1, 1)

    class FusedConvBN2DFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, X, conv_weight, eps=1e-3):
            ctx.save_for_backward(X, conv_weight)
            X = F.conv2d(X, conv_weight)
            sum, var = X.sum(dim=(0, 2, 3)), X.var(unbiased=True, dim=(0, 2, 3))
            N = X.numel() / X.size(1)
            ctx.eps, ctx.sum, ctx.N, ctx.sqrt_var = eps, sum, N, torch.sqrt(var)
            out = X - (sum / N).view(1, -1, 1, 1)
            return out / (ctx.sqrt_var + eps).view(1, -1, 1, 1)

        @staticmethod
        @once_differentiable
        def backward(ctx, grad_out):
            X, conv_weight = ctx.saved_tensors
            X_conv_out = F.conv2d(X, conv_weight)
            grad = bn_backward(grad_out, X_conv_out, ctx.sum, ctx.sqrt_var, ctx.N, ctx.eps)
            grad_X = F.grad.conv2d_input(X.shape, conv_weight, grad) if False else None
            grad_X = torch.nn.grad.conv2d_input(X.shape, conv_weight, grad)
            return grad_X, torch.nn.grad.conv2d_weight(X, conv_weight.shape, grad), None

    torch.manual_seed(0)
    weight = torch.rand(5, 3, 3, 3, requires_grad=True, dtype=torch.double)
    X = torch.rand(2, 3, 7, 7, requires_grad=True, dtype=torch.double)
    print(torch.autograd.gradcheck(FusedConvBN2DFunction.apply, (X, weight)))
    FusedConvBN2DFunction.apply(X, weight).square().sum().backward()
    show(X.grad, weight.grad)


def saved_tensor_hooks():
    import os
    import uuid

    x = torch.randn(5, requires_grad=True, generator=torch.Generator().manual_seed(0))
    y = x.pow(2)
    print(x.equal(y.grad_fn._saved_self), x is y.grad_fn._saved_self)
    y = x.exp()
    print(y.equal(y.grad_fn._saved_result), y is y.grad_fn._saved_result)
    with tempfile.TemporaryDirectory() as folder:

        class SelfDeletingTempFile:
            def __init__(self):
                self.name = os.path.join(folder, str(uuid.uuid4()))

            def __del__(self):
                os.remove(self.name)

        def pack_hook(tensor):
            if tensor.numel() < 3:
                return tensor
            temp_file = SelfDeletingTempFile()
            torch.save(tensor, temp_file.name)
            return temp_file

        def unpack_hook(kept):
            return kept if isinstance(kept, torch.Tensor) else torch.load(kept.name)

        with torch.autograd.graph.saved_tensors_hooks(pack_hook, unpack_hook):
            y = (x * x).sin()
            print(len(os.listdir(folder)))
        y.sum().backward()
        show(x.grad)
        del y
        print(len(os.listdir(folder)))
    with torch.autograd.graph.save_on_cpu(pin_memory=False):
        z = (x * x).exp()
    show(*torch.autograd.grad(z.sum(), x))
    try:
        with torch.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
                pass
    except RuntimeError as error:
        print(error)
    raw = torch.ones(2, requires_grad=True)
    out = raw * raw
    out.grad_fn._raw_saved_self.register_hooks(lambda t: t * 4, lambda t: t)
    out.sum().backward()
    show(raw.grad)


def visualizing_gradients():
    torch.manual_seed(0)

    def fc_layer(in_size, out_size, norm_layer):
        return nn.Sequential(nn.Linear(in_size, out_size), norm_layer(out_size))

    class Net(nn.Module):
        def __init__(self, norm_layer, num_layers=3):
            super().__init__()
            sizes = [6] * num_layers + [2]
            self.layers = nn.Sequential(
                *(fc_layer(a, b, norm_layer) for a, b in zip(sizes, sizes[1:], strict=False))
            )

        def forward(self, x):
            return self.layers(x)

    grads = []

    def hook_forward(module_name):
        def hook(module, args, output):
            output.register_hook(lambda grad: grads.append((module_name, grad.norm().item())))

        return hook

    model = Net(nn.BatchNorm1d)
    for name, layer in model.named_modules():
        if any(layer.children()) is False:
            layer.register_forward_hook(hook_forward(name))
    loss = F.mse_loss(model(torch.randn(8, 6)), torch.rand(8, 2))
    loss.backward()
    for name, norm in grads:
        print(name, f"{norm:.6f}")
    with_retain = torch.ones(3, requires_grad=True)
    mid = with_retain * 3
    mid.retain_grad()
    mid.register_hook(lambda g: g * 2)
    mid.sum().backward()
    print(mid.grad, with_retain.grad, with_retain.is_leaf, mid.is_leaf, mid.retains_grad)


def custom_operators():
    import numpy as np

    @torch.library.custom_op("tutorial::numpy_sin", mutates_args=(), device_types="cpu")
    def numpy_sin(x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return torch.from_numpy(np.sin(x.numpy()) * np.float32(scale))

    @numpy_sin.register_fake
    def _(x, scale=1.0):
        return torch.empty_like(x)

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.scale = inputs[1]

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.cos() * ctx.scale, None

    numpy_sin.register_autograd(backward, setup_context=setup_context)
    x = torch.linspace(0, 1, 5, requires_grad=True)
    y = numpy_sin(x, 2.0)
    y.sum().backward()
    show(y, x.grad, torch.ops.tutorial.numpy_sin(x))

    @torch.library.custom_op("tutorial::sin_into", mutates_args={"output"})
    def sin_into(input: torch.Tensor, output: torch.Tensor) -> None:
        output.copy_(input.sin())

    out = torch.empty(5)
    sin_into(x.detach(), out)
    show(out)
    with torch.library._scoped_library("tutorial", "FRAGMENT") as lib:
        lib.define("twice(Tensor x) -> Tensor")
        lib.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
        show(torch.ops.tutorial.twice(x))

    @torch.compile(fullgraph=True)
    def f(x):
        return numpy_sin(x) + 1

    show(f(x.detach()))
    torch.library.opcheck(numpy_sin, (x.detach(), 2.0))
    show(torch.func.vmap(torch.sin)(x))
    print(numpy_sin)


def fx_conv_bn_fuser():
    import copy

    import torch.fx as fx

    def fuse_conv_bn_weights(conv_w, conv_b, rm, rv, eps, w, b):
        conv_b = torch.zeros_like(rm) if conv_b is None else conv_b
        rsqrt = torch.rsqrt(rv + eps)
        conv_w = conv_w * (w * rsqrt).reshape([-1] + [1] * (len(conv_w.shape) - 1))
        return nn.Parameter(conv_w), nn.Parameter((conv_b - rm) * rsqrt * w + b)

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)
    )
    x = torch.randn(4, 1, 8, 8)
    model(x)
    model.eval()
    traced = fx.symbolic_trace(copy.deepcopy(model))
    modules = dict(traced.named_modules())
    for node in traced.graph.nodes:
        if node.op != "call_module" or node.args[0].op != "call_module":
            continue
        conv, bn = modules.get(node.args[0].target), modules[node.target]
        if type(conv) is nn.Conv2d and type(bn) is nn.BatchNorm2d and len(node.args[0].users) == 1:
            conv.weight, conv.bias = fuse_conv_bn_weights(
                conv.weight, conv.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
            )
            node.replace_all_uses_with(node.args[0])
            traced.graph.erase_node(node)
    traced.graph.lint()
    traced.recompile()
    print(traced.code, traced.graph)
    print(torch.allclose(model(x), traced(x), atol=1e-5))

    class Profiler(fx.Interpreter):
        def run_node(self, n):
            value = super().run_node(n)
            print(n.op, n.name, tuple(value.shape))
            return value

    Profiler(traced).run(x)
    from torch.fx.passes.shape_prop import ShapeProp

    ShapeProp(traced).propagate(x)
    print([n.meta["tensor_meta"].shape for n in traced.graph.nodes])

    def pattern(a):
        return torch.relu(torch.neg(a))

    m = fx.symbolic_trace(lambda a: torch.relu(torch.neg(a)) + 1)
    fx.replace_pattern(m, pattern, lambda a: torch.sigmoid(a))
    print(m.code)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
