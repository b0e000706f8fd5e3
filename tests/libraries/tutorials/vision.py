"""PyTorch's tutorials on pictures, small and without downloads: `python vision.py TUTORIAL`."""

import copy
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import nn, optim
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torchvision import datasets, models, transforms, utils


def picture_folder(folder, n=6, side=40):
    """A folder of pictures of two classes, as ImageFolder expects it."""
    drawn = np.random.RandomState(0)
    for split in ("train", "val"):
        for kind, level in (("ants", 60), ("bees", 160)):
            place = Path(folder, split, kind)
            place.mkdir(parents=True)
            for i in range(n):
                values = np.clip(drawn.randn(side, side + 4, 3) * 30 + level, 0, 255)
                Image.fromarray(values.astype(np.uint8)).save(place / f"{i}.png")


def transfer_learning():
    steps = {
        "train": transforms.Compose([
            transforms.RandomResizedCrop(32),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]),
        "val": transforms.Compose([
            transforms.Resize(36),
            transforms.CenterCrop(32),
            transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]),
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as data_dir:
        picture_folder(data_dir)
        image_datasets = {
            x: datasets.ImageFolder(Path(data_dir, x), steps[x]) for x in ["train", "val"]
        }
        loaders = {
            x: DataLoader(image_datasets[x], batch_size=4, shuffle=True) for x in ["train", "val"]
        }
        print(image_datasets["train"].classes, image_datasets["val"].class_to_idx)
        torch.manual_seed(0)
        inputs, classes = next(iter(loaders["train"]))
        out = utils.make_grid(inputs)
        print(out.shape, f"{out.mean().item():.6f}", classes.tolist())
        model_conv = models.resnet18(weights=None)
        for param in model_conv.parameters():
            param.requires_grad = False
        model_conv.fc = nn.Linear(model_conv.fc.in_features, 2)
        criterion = nn.CrossEntropyLoss()
        optimizer = optim.SGD(model_conv.fc.parameters(), lr=0.001, momentum=0.9)
        scheduler = lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.1)
        best = Path(data_dir) / "best_model_params.pt"
        for epoch in range(2):
            for phase in ("train", "val"):
                model_conv.train(phase == "train")
                running_loss, running_corrects = 0.0, 0
                for inputs, labels in loaders[phase]:
                    optimizer.zero_grad()
                    with torch.set_grad_enabled(phase == "train"):
                        outputs = model_conv(inputs)
                        _, preds = torch.max(outputs, 1)
                        loss = criterion(outputs, labels)
                        if phase == "train":
                            loss.backward()
                            optimizer.step()
                    running_loss += loss.item() * inputs.size(0)
                    running_corrects += torch.sum(preds == labels.data)
                if phase == "train":
                    scheduler.step()
                print(epoch, phase, f"{running_loss / 12:.5f} {running_corrects.double() / 12:.4f}")
                torch.save(model_conv.state_dict(), best)
        model_conv.load_state_dict(torch.load(best, weights_only=True))
        print(scheduler.get_last_lr(), model_conv.fc)


def dcgan():
    torch.manual_seed(999)
    torch.use_deterministic_algorithms(True)
    nz, ngf, ndf, nc = 10, 4, 4, 3

    def weights_init(m):
        classname = m.__class__.__name__
        if classname.find("Conv") != -1:
            nn.init.normal_(m.weight.data, 0.0, 0.02)
        elif classname.find("BatchNorm") != -1:
            nn.init.normal_(m.weight.data, 1.0, 0.02)
            nn.init.constant_(m.bias.data, 0)

    def up(i, o, stride=2, padding=1):
        conv = nn.ConvTranspose2d(i, o, 4, stride, padding, bias=False)
        return [conv, nn.BatchNorm2d(o), nn.ReLU(True)]

    def down(i, o):
        conv = nn.Conv2d(i, o, 4, 2, 1, bias=False)
        return [conv, nn.BatchNorm2d(o), nn.LeakyReLU(0.2, inplace=True)]

    netG = nn.Sequential(
        *up(nz, ngf * 4, 1, 0), *up(ngf * 4, ngf * 2), *up(ngf * 2, ngf),
        nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False), nn.Tanh(),
    )  # fmt: skip
    netD = nn.Sequential(
        nn.Conv2d(nc, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
        *down(ndf, ndf * 2), *down(ndf * 2, ndf * 4),
        nn.Conv2d(ndf * 4, 1, 4, 1, 0, bias=False), nn.Sigmoid(),
    )  # fmt: skip
    netG.apply(weights_init)
    netD.apply(weights_init)
    print(netG, netD)
    criterion = nn.BCELoss()
    fixed_noise = torch.randn(8, nz, 1, 1)
    optimizerD = optim.Adam(netD.parameters(), lr=0.0002, betas=(0.5, 0.999))
    optimizerG = optim.Adam(netG.parameters(), lr=0.0002, betas=(0.5, 0.999))
    for i in range(4):
        real = torch.rand(8, nc, 32, 32) * 2 - 1
        netD.zero_grad()
        label = torch.full((8,), 1.0, dtype=torch.float)
        output = netD(real).view(-1)
        errD_real = criterion(output, label)
        errD_real.backward()
        D_x = output.mean().item()
        fake = netG(torch.randn(8, nz, 1, 1))
        label.fill_(0.0)
        output = netD(fake.detach()).view(-1)
        errD_fake = criterion(output, label)
        errD_fake.backward()
        optimizerD.step()
        netG.zero_grad()
        label.fill_(1.0)
        output = netD(fake).view(-1)
        errG = criterion(output, label)
        errG.backward()
        optimizerG.step()
        losses = (errD_real + errD_fake).item(), errG.item(), D_x, output.mean().item()
        print(i, *(f"{v:.5f}" for v in losses))
    with torch.no_grad():
        grid = utils.make_grid(netG(fixed_noise).detach().cpu(), padding=2, normalize=True)
    print(grid.shape, f"{grid.mean().item():.5f}")


def spatial_transformer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 10, kernel_size=5)
            self.conv2 = nn.Conv2d(10, 20, kernel_size=5)
            self.conv2_drop = nn.Dropout2d()
            self.fc1 = nn.Linear(320, 50)
            self.fc2 = nn.Linear(50, 10)
            self.localization = nn.Sequential(
                nn.Conv2d(1, 8, kernel_size=7), nn.MaxPool2d(2, stride=2), nn.ReLU(True),
                nn.Conv2d(8, 10, kernel_size=5), nn.MaxPool2d(2, stride=2), nn.ReLU(True),
            )  # fmt: skip
            self.fc_loc = nn.Sequential(nn.Linear(90, 32), nn.ReLU(True), nn.Linear(32, 6))
            self.fc_loc[2].weight.data.zero_()
            self.fc_loc[2].bias.data.copy_(torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.float))

        def stn(self, x):
            xs = self.localization(x).view(-1, 90)
            theta = self.fc_loc(xs).view(-1, 2, 3)
            grid = F.affine_grid(theta, x.size())
            return F.grid_sample(x, grid)

        def forward(self, x):
            x = self.stn(x)
            x = F.relu(F.max_pool2d(self.conv1(x), 2))
            x = F.relu(F.max_pool2d(self.conv2_drop(self.conv2(x)), 2))
            x = F.relu(self.fc1(x.view(-1, 320)))
            return F.log_softmax(self.fc2(F.dropout(x, training=self.training)), dim=1)

    torch.manual_seed(0)
    model = Net()
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(16, 1, 28, 28), torch.randint(10, (16,))
    for _ in range(4):
        optimizer.zero_grad()
        loss = F.nll_loss(model(x), y)
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.6f}")
    with torch.no_grad():
        print(f"{model.stn(x).abs().mean().item():.6f}", model.fc_loc[2].bias)


def fgsm():
    torch.manual_seed(42)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Dropout(0.25), nn.Flatten(), nn.Linear(1152, 10), nn.LogSoftmax(dim=1),
    ).eval()  # fmt: skip
    mean, std = torch.tensor([0.1307]), torch.tensor([0.3081])

    def denorm(batch):
        return batch * std.view(1, -1, 1, 1) + mean.view(1, -1, 1, 1)

    images, labels = torch.rand(12, 1, 28, 28), torch.randint(10, (12,))
    for epsilon in (0, 0.1, 0.3):
        changed = 0
        for data, target in DataLoader(TensorDataset(images, labels)):
            data = transforms.Normalize((0.1307,), (0.3081,))(data)
            data.requires_grad = True
            output = model(data)
            loss = F.nll_loss(output, target)
            model.zero_grad()
            loss.backward()
            perturbed = denorm(data) + epsilon * data.grad.data.sign()
            perturbed = torch.clamp(perturbed, 0, 1)
            output = model(transforms.Normalize((0.1307,), (0.3081,))(perturbed))
            changed += output.max(1, keepdim=True)[1].item() != target.item()
        print(f"Epsilon: {epsilon}", changed, f"{output.min().item():.6f}")


def neural_style():
    def gram_matrix(input):
        a, b, c, d = input.size()
        features = input.view(a * b, c * d)
        return torch.mm(features, features.t()).div(a * b * c * d)

    class ContentLoss(nn.Module):
        def __init__(self, target):
            super().__init__()
            self.target = target.detach()

        def forward(self, input):
            self.loss = F.mse_loss(input, self.target)
            return input

    class StyleLoss(nn.Module):
        def __init__(self, target_feature):
            super().__init__()
            self.target = gram_matrix(target_feature).detach()

        def forward(self, input):
            self.loss = F.mse_loss(gram_matrix(input), self.target)
            return input

    torch.manual_seed(0)
    cnn = models.vgg11(weights=None).features[:8].eval()
    style, content = torch.rand(1, 3, 32, 32), torch.rand(1, 3, 32, 32)
    model, losses = nn.Sequential(), []
    for i, layer in enumerate(cnn.children()):
        layer = nn.ReLU(inplace=False) if isinstance(layer, nn.ReLU) else copy.deepcopy(layer)
        model.add_module(f"layer_{i}", layer)
        if isinstance(layer, nn.Conv2d):
            for kind, loss in (
                ("content", ContentLoss(model(content).detach())),
                ("style", StyleLoss(model(style).detach())),
            ):
                model.add_module(f"{kind}_loss_{i}", loss)
                losses.append((kind, loss))
    input_img = content.clone()
    input_img.requires_grad_(True)
    model.eval()
    model.requires_grad_(False)
    optimizer = optim.LBFGS([input_img])
    run = [0]
    while run[0] <= 5:

        def closure():
            with torch.no_grad():
                input_img.clamp_(0, 1)
            optimizer.zero_grad()
            model(input_img)
            loss = sum(each.loss * (1e6 if kind == "style" else 1) for kind, each in losses)
            loss.backward()
            run[0] += 1
            if run[0] < 6:
                print(f"run {run[0]}: {loss.item():.5f}")
            return loss

        optimizer.step(closure)
    print(list(dict(model.named_children())))


def data_loading():
    class FaceLandmarksDataset(Dataset):
        def __init__(self, transform=None):
            drawn = np.random.RandomState(0)
            self.images = [
                drawn.randint(0, 255, (40 + i, 50, 3)).astype(np.uint8) for i in range(5)
            ]
            self.landmarks = [drawn.rand(8).reshape(-1, 2) * 40 for _ in range(5)]
            self.transform = transform

        def __len__(self):
            return len(self.images)

        def __getitem__(self, idx):
            if torch.is_tensor(idx):
                idx = idx.tolist()
            sample = {"image": self.images[idx], "landmarks": self.landmarks[idx]}
            return self.transform(sample) if self.transform else sample

    class RandomCrop:
        def __init__(self, output_size):
            self.output_size = output_size

        def __call__(self, sample):
            image, landmarks = sample["image"], sample["landmarks"]
            h, w = image.shape[:2]
            top = torch.randint(0, h - self.output_size + 1, (1,)).item()
            left = torch.randint(0, w - self.output_size + 1, (1,)).item()
            image = image[top : top + self.output_size, left : left + self.output_size]
            return {"image": image, "landmarks": landmarks - [left, top]}

    class ToTensor:
        def __call__(self, sample):
            image = sample["image"].transpose((2, 0, 1))
            return {
                "image": torch.from_numpy(image.copy()),
                "landmarks": torch.from_numpy(sample["landmarks"]),
            }

    torch.manual_seed(0)
    ds = FaceLandmarksDataset(transforms.Compose([RandomCrop(32), ToTensor()]))
    loader = DataLoader(ds, batch_size=2, shuffle=True, num_workers=0)
    for i_batch, batch in enumerate(loader):
        print(i_batch, batch["image"].size(), batch["landmarks"].size(), batch["image"].dtype)
        print(f"{batch['landmarks'].mean().item():.6f}", batch["image"].sum().item())
        grid = utils.make_grid(batch["image"].float())
        print(grid.shape)


def visualization_utilities():
    from torchvision.utils import draw_bounding_boxes, draw_segmentation_masks

    image = torch.randint(0, 255, (3, 40, 40), dtype=torch.uint8,
                          generator=torch.Generator().manual_seed(0))  # fmt: skip
    boxes = torch.tensor([[5, 5, 20, 20], [10, 14, 30, 35]], dtype=torch.float)
    drawn = draw_bounding_boxes(image, boxes, colors=["blue", "yellow"], width=2)
    print(drawn.shape, drawn.sum().item())
    masks = torch.zeros(2, 40, 40, dtype=torch.bool)
    masks[0, 3:9, 4:30] = True
    masks[1, 20:, 25:] = True
    drawn = draw_segmentation_masks(image, masks, alpha=0.7, colors=["red", "#00ff00"])
    print(drawn.shape, drawn.sum().item())


def mobilenet_finetuning():
    torch.manual_seed(0)
    model = models.mobilenet_v2(weights=None)
    model.classifier[1] = nn.Linear(model.last_channel, 3)
    for name, param in model.features.named_parameters():
        param.requires_grad = name.startswith("18")
    wanted = [p for p in model.parameters() if p.requires_grad]
    print(len(wanted), sum(p.numel() for p in wanted))
    optimizer = optim.AdamW(wanted, lr=1e-3, weight_decay=0.01)
    scheduler = lr_scheduler.CosineAnnealingLR(optimizer, T_max=3)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    x, y = torch.randn(8, 3, 32, 32), torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(wanted, 1.0)
        optimizer.step()
        scheduler.step()
        print(f"{loss.item():.4f} {norm.item():.2f}", scheduler.get_last_lr())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
