"""PyTorch's first tutorials, small and without downloads: `python beginner.py TUTORIAL`."""

import math
import sys
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split


def show(*values):
    """Numbers to six digits, other things as they are."""
    print(*(f"{v:.6f}" if isinstance(v, float) else v for v in values))


def pictures(n=64, channels=1, side=28, classes=10):
    """A data set of noise with something to learn in it."""
    generator = torch.Generator().manual_seed(3)
    labels = torch.randint(classes, (n,), generator=generator)
    images = torch.randn(n, channels, side, side, generator=generator)
    images[torch.arange(n), :, labels] += 2
    return TensorDataset(images, labels)


class Net(nn.Module):
    """The network of the 60-minute blitz."""

    def __init__(self, channels=1, fc=400):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(fc, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def tensor_tutorial():
    import numpy as np

    data = [[1, 2], [3, 4]]
    x_data = torch.tensor(data)
    x_np = torch.from_numpy(np.array(data))
    print(f"Ones Tensor: \n {torch.ones_like(x_data)} \n", x_np)
    torch.manual_seed(0)
    print(f"Random Tensor: \n {torch.rand_like(x_data, dtype=torch.float)} \n")
    shape = (2, 3)
    tensor = torch.rand(shape)
    print(tensor, torch.ones(shape), torch.zeros(shape))
    print(f"Shape of tensor: {tensor.shape}", tensor.dtype, f"stored on: {tensor.device}")
    if torch.accelerator.is_available():
        tensor = tensor.to(torch.accelerator.current_accelerator())
    tensor = torch.ones(4, 4)
    print("First row:", tensor[0], "Last column:", tensor[..., -1])
    tensor[:, 1] = 0
    print(torch.cat([tensor, tensor, tensor], dim=1))
    y1, y2, y3 = tensor @ tensor.T, tensor.matmul(tensor.T), torch.rand_like(tensor)
    torch.matmul(tensor, tensor.T, out=y3)
    torch.mul(tensor, tensor, out=y2)
    agg = tensor.sum()
    print(y1, y2, y3, agg.item(), type(agg.item()))
    t = torch.ones(5)
    n = t.numpy()
    t.add_(1)
    print(f"t: {t}", f"n: {n}")
    n = np.ones(5)
    t = torch.from_numpy(n)
    np.add(n, 1, out=n)
    print(t, n)


def autograd_tutorial():
    a = torch.tensor([2.0, 3.0], requires_grad=True)
    b = torch.tensor([6.0, 4.0], requires_grad=True)
    Q = 3 * a**3 - b**2
    Q.backward(gradient=torch.tensor([1.0, 1.0]))
    print(9 * a**2 == a.grad, -2 * b == b.grad)
    x, y, z = torch.rand(5, 5), torch.rand(5, 5), torch.rand((5, 5), requires_grad=True)
    print(f"Does `a` require gradients?: {(x + y).requires_grad}", (x + z).requires_grad)
    x, y = torch.ones(5), torch.zeros(3)
    torch.manual_seed(0)
    w = torch.randn(5, 3, requires_grad=True)
    b = torch.randn(3, requires_grad=True)
    z = torch.matmul(x, w) + b
    loss = F.binary_cross_entropy_with_logits(z, y)
    print(f"Gradient function for z = {type(z.grad_fn).__name__}", type(loss.grad_fn).__name__)
    loss.backward()
    print(w.grad, b.grad)
    with torch.no_grad():
        print((torch.matmul(x, w) + b).requires_grad, z.detach().requires_grad)
    inp = torch.eye(4, 5, requires_grad=True)
    out = (inp + 1).pow(2).t()
    out.backward(torch.ones_like(out), retain_graph=True)
    print(f"First call\n{inp.grad}")
    out.backward(torch.ones_like(out), retain_graph=True)
    print(f"\nSecond call\n{inp.grad}")
    inp.grad.zero_()
    out.backward(torch.ones_like(out), retain_graph=True)
    print(f"\nCall after zeroing gradients\n{inp.grad}")


def neural_networks():
    torch.manual_seed(0)
    net = Net()
    print(net)
    params = list(net.parameters())
    print(len(params), params[0].size())
    x = torch.randn(1, 1, 32, 32)
    out = net(x)
    print(out)
    net.zero_grad()
    out.backward(torch.randn(1, 10))
    output = net(x)
    target = torch.randn(10).view(1, -1)
    criterion = nn.MSELoss()
    loss = criterion(output, target)
    print(loss, type(loss.grad_fn).__name__)
    first = loss.grad_fn.next_functions[0][0]
    print(type(first).__name__, type(first.next_functions[0][0]).__name__)
    net.zero_grad()
    print("conv1.bias.grad before backward", net.conv1.bias.grad)
    loss.backward()
    print("conv1.bias.grad after backward", net.conv1.bias.grad)
    for f in net.parameters():
        f.data.sub_(f.grad.data * 0.01)
    optimizer = optim.SGD(net.parameters(), lr=0.01)
    optimizer.zero_grad()
    loss = criterion(net(x), target)
    loss.backward()
    optimizer.step()
    show(loss.item(), criterion(net(x), target).item())


def cifar10():
    torch.manual_seed(0)
    classes = ("plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
    trainloader = DataLoader(pictures(64, 3, 32), batch_size=4, shuffle=True, num_workers=2)
    net = Net(3)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    for epoch in range(2):
        running_loss = 0.0
        for i, data in enumerate(trainloader, 0):
            inputs, labels = data
            optimizer.zero_grad()
            outputs = net(inputs)
            loss = criterion(outputs, labels)
            loss.backward()
            optimizer.step()
            running_loss += loss.item()
            if i % 8 == 7:
                print(f"[{epoch + 1}, {i + 1:5d}] loss: {running_loss / 8:.5f}")
                running_loss = 0.0
    with tempfile.TemporaryDirectory() as folder:
        PATH = Path(folder) / "cifar_net.pth"
        torch.save(net.state_dict(), PATH)
        net = Net(3)
        net.load_state_dict(torch.load(PATH, weights_only=True))
    images, labels = next(iter(DataLoader(pictures(64, 3, 32), batch_size=4)))
    _, predicted = torch.max(net(images), 1)
    print("Predicted: ", " ".join(f"{classes[predicted[j]]:5s}" for j in range(4)))
    correct_pred = dict.fromkeys(classes, 0)
    with torch.no_grad():
        for images, labels in trainloader:
            for label, prediction in zip(labels, net(images).max(1).indices, strict=True):
                correct_pred[classes[label]] += int(label == prediction)
    print(correct_pred)


def quickstart():
    torch.manual_seed(0)
    train_dataloader = DataLoader(pictures(), batch_size=16)

    class NeuralNetwork(nn.Module):
        def __init__(self):
            super().__init__()
            self.flatten = nn.Flatten()
            self.linear_relu_stack = nn.Sequential(
                nn.Linear(28 * 28, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)
            )

        def forward(self, x):
            return self.linear_relu_stack(self.flatten(x))

    model = NeuralNetwork().to("cpu")
    print(model)
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-1)
    for t in range(3):
        print(f"Epoch {t + 1}\n-------------------------------")
        model.train()
        for batch, (X, y) in enumerate(train_dataloader):
            loss = loss_fn(model(X), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            print(f"loss: {loss.item():>7f}  [{(batch + 1) * len(X):>5d}]")
        model.eval()
        test_loss, correct = 0, 0
        with torch.no_grad():
            for X, y in train_dataloader:
                pred = model(X)
                test_loss += loss_fn(pred, y).item()
                correct += (pred.argmax(1) == y).type(torch.float).sum().item()
        print(f"Accuracy: {(100 * correct / 64):>0.1f}%, Avg loss: {test_loss / 4:>8f} \n")
    for name, param in model.named_parameters():
        print(f"Layer: {name} | Size: {param.size()} | Values : {param[:2]} \n")
    logits = model(torch.rand(1, 28, 28, generator=torch.Generator().manual_seed(0)))
    pred_probab = nn.Softmax(dim=1)(logits)
    print(f"Predicted class: {pred_probab.argmax(1)}", pred_probab)


def transforms_and_data():
    from torchvision import datasets
    from torchvision.transforms import Lambda, ToTensor

    one_hot = Lambda(lambda y: torch.zeros(10).scatter_(0, torch.tensor(y), value=1))
    image, label = datasets.FakeData(20, (3, 8, 8), 5, transform=ToTensor())[0]
    print(image.shape, one_hot(label), f"{image.mean().item():.6f}")

    class CustomImageDataset(Dataset):
        def __init__(self, transform=None, target_transform=None):
            self.transform, self.target_transform = transform, target_transform

        def __len__(self):
            return 9

        def __getitem__(self, idx):
            return torch.full((2, 2), float(idx)), idx % 3

    torch.manual_seed(0)
    loader = DataLoader(CustomImageDataset(), batch_size=4, shuffle=True)
    train_features, train_labels = next(iter(loader))
    print(f"Feature batch shape: {train_features.size()}", train_labels.size(), train_labels)
    first, second = random_split(CustomImageDataset(), [6, 3])
    print(list(first.indices), list(second.indices), len(loader))


def polynomial_numpy():
    import numpy as np

    rng = np.random.RandomState(0)
    x = np.linspace(-math.pi, math.pi, 2000)
    y = np.sin(x)
    a, b, c, d = rng.randn(4)
    for t in range(500):
        y_pred = a + b * x + c * x**2 + d * x**3
        loss = np.square(y_pred - y).sum()
        if t % 100 == 99:
            show(t, float(loss))
        grad = 2.0 * (y_pred - y)
        a -= 1e-6 * grad.sum()
        b -= 1e-6 * (grad * x).sum()
        c -= 1e-6 * (grad * x**2).sum()
        d -= 1e-6 * (grad * x**3).sum()
    tx = torch.from_numpy(x)
    show(float(a), float(b), float(c), float(d), (a + b * tx).sum().item())


def polynomial_tensor():
    dtype, device = torch.float, torch.device("cpu")
    torch.manual_seed(0)
    x = torch.linspace(-math.pi, math.pi, 2000, device=device, dtype=dtype)
    y = torch.sin(x)
    a, b, c, d = (torch.randn((), device=device, dtype=dtype) for _ in range(4))
    for t in range(500):
        y_pred = a + b * x + c * x**2 + d * x**3
        loss = (y_pred - y).pow(2).sum().item()
        if t % 100 == 99:
            show(t, loss)
        grad_y_pred = 2.0 * (y_pred - y)
        a -= 1e-6 * grad_y_pred.sum()
        b -= 1e-6 * (grad_y_pred * x).sum()
        c -= 1e-6 * (grad_y_pred * x**2).sum()
        d -= 1e-6 * (grad_y_pred * x**3).sum()
    print(f"y = {a.item():.5f} + {b.item():.5f} x + {c.item():.5f} x^2 + {d.item():.5f} x^3")


def polynomial_autograd():
    torch.set_default_device("cpu")
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 2000, dtype=torch.float)
    y = torch.exp(x)
    a, b, c, d = (torch.randn((), requires_grad=True) for _ in range(4))
    initial_loss = 1.0
    for t in range(500):
        y_pred = a + b * x + c * x**2 + d * x**3
        loss = (y_pred - y).pow(2).sum()
        if t == 0:
            initial_loss = loss.item()
        if t % 100 == 99:
            print(f"Iteration t = {t:4d} loss(t)/loss(0) = {round(loss.item() / initial_loss, 5)}")
            print(*(f"{v.item():10.5f}" for v in (a, b, c, d)))
        loss.backward()
        with torch.no_grad():
            for each in (a, b, c, d):
                each -= 1e-4 * each.grad
                each.grad = None


def polynomial_custom_function():
    class LegendrePolynomial3(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input):
            ctx.save_for_backward(input)
            return 0.5 * (5 * input**3 - 3 * input)

        @staticmethod
        def backward(ctx, grad_output):
            (input,) = ctx.saved_tensors
            return grad_output * 1.5 * (5 * input**2 - 1)

    x = torch.linspace(-math.pi, math.pi, 2000)
    y = torch.sin(x)
    a, b, c, d = (torch.full((), v, requires_grad=True) for v in (0.0, -1.0, 0.0, 0.3))
    for t in range(500):
        P3 = LegendrePolynomial3.apply
        loss = (a + b * P3(c + d * x) - y).pow(2).sum()
        if t % 100 == 99:
            show(t, loss.item())
        loss.backward()
        with torch.no_grad():
            for each in (a, b, c, d):
                each -= 5e-6 * each.grad
                each.grad = None
    show(a.item(), b.item(), c.item(), d.item())


def polynomial_nn():
    torch.manual_seed(0)
    x = torch.linspace(-math.pi, math.pi, 2000)
    y = torch.sin(x)
    xx = x.unsqueeze(-1).pow(torch.tensor([1, 2, 3]))
    model = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0, 1))
    loss_fn = torch.nn.MSELoss(reduction="sum")
    for t in range(300):
        loss = loss_fn(model(xx), y)
        if t % 100 == 99:
            show(t, loss.item())
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for param in model.parameters():
                param -= 1e-6 * param.grad
    # Two of the gradients are 0 but for roundings, which RMSprop divides by their own size: PyTorch
    # itself gives other digits from here on when the points are passed in reverse.
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    for t in range(2000):
        loss = loss_fn(model(xx), y)
        if t % 100 == 99:
            print(t, round(loss.item()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    linear_layer = model[0]
    print(
        *(round(v, 1) + 0.0 for v in (linear_layer.bias.item(), *linear_layer.weight[0].tolist()))
    )


def polynomial_module():
    import random

    class DynamicNet(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c, self.d, self.e = (
                torch.nn.Parameter(torch.randn(())) for _ in range(5)
            )

        def forward(self, x):
            y = self.a + self.b * x + self.c * x**2 + self.d * x**3
            for exp in range(4, random.randint(4, 6)):
                y = y + self.e * x**exp
            return y

        def string(self):
            return f"y = {self.a.item():.4f} + {self.b.item():.4f} x + {self.e.item():.4f} x^4 ?"

    random.seed(0)
    torch.manual_seed(0)
    x = torch.linspace(-math.pi, math.pi, 2000)
    y = torch.sin(x)
    model = DynamicNet()
    criterion = torch.nn.MSELoss(reduction="sum")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-8, momentum=0.9)
    for t in range(600):
        loss = criterion(model(x), y)
        if t % 100 == 99:
            show(t, loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"Result: {model.string()}")


def nn_tutorial():
    torch.manual_seed(0)
    train = pictures(256)
    x_train, y_train = train.tensors[0].view(-1, 784), train.tensors[1]
    weights = torch.randn(784, 10) / math.sqrt(784)
    weights.requires_grad_()
    bias = torch.zeros(10, requires_grad=True)

    def nll(input, target):
        return -input[range(target.shape[0]), target].mean()

    for start in range(0, 256, 64):
        xb, yb = x_train[start : start + 64], y_train[start : start + 64]
        z = xb @ weights + bias
        loss = nll(z - z.exp().sum(-1).log().unsqueeze(-1), yb)
        loss.backward()
        with torch.no_grad():
            weights -= weights.grad * 0.5
            bias -= bias.grad * 0.5
            weights.grad.zero_()
            bias.grad.zero_()
        show(loss.item())

    class Lambda(nn.Module):
        def __init__(self, func):
            super().__init__()
            self.func = func

        def forward(self, x):
            return self.func(x)

    class WrappedDataLoader:
        def __init__(self, dl, func):
            self.dl, self.func = dl, func

        def __len__(self):
            return len(self.dl)

        def __iter__(self):
            for b in self.dl:
                yield (self.func(*b))

    model = nn.Sequential(
        nn.Conv2d(1, 16, kernel_size=3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(16, 16, kernel_size=3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(16, 10, kernel_size=3, stride=2, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), Lambda(lambda x: x.view(x.size(0), -1)),
    )  # fmt: skip
    loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)
    loader = WrappedDataLoader(loader, lambda x, y: (x.view(-1, 1, 28, 28), y))
    opt = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(2):
        for xb, yb in loader:
            loss = F.cross_entropy(model(xb), yb)
            loss.backward()
            opt.step()
            opt.zero_grad()
            show(loss.item())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
