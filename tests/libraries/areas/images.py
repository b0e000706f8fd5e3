"""Libraries of pictures, volumes and sounds: `python images.py LIBRARY`."""

import sys

import torch


def train(model, *batch, loss=lambda out: out.square().mean(), steps=2):
    """Print the losses of a few steps."""
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(model(*batch))
        value.backward()
        optimizer.step()
        losses.append(value.item())
    print(type(model).__name__, *(f"{v:.5f}" for v in losses))


def asteroid_filterbanks():
    from asteroid_filterbanks import STFTFB, Decoder, Encoder, FreeFB

    torch.manual_seed(0)
    x = torch.randn(2, 1, 400)
    for kind in (FreeFB, STFTFB):
        encoder, decoder = Encoder(kind(16, 16, stride=8)), Decoder(kind(16, 16, stride=8))
        out = decoder(encoder(x))
        print(tuple(out.shape), f"{out.abs().mean().item():.6f}")
    train(Encoder(FreeFB(16, 16, stride=8)), x)


def auraloss():
    import auraloss

    torch.manual_seed(0)
    x, y = torch.randn(2, 1, 4000, requires_grad=True), torch.randn(2, 1, 4000)
    for loss in (
        auraloss.freq.MultiResolutionSTFTLoss([256], [64], [128]),
        auraloss.time.SISDRLoss(),
        auraloss.time.LogCoshLoss(),
    ):
        value = loss(x, y)
        (grad,) = torch.autograd.grad(value, x)
        print(f"{value.item():.5f} {grad.abs().sum().item():.4f}")


def captum():
    import numpy as np
    from captum.attr import (  # fmt: skip
        DeepLift,
        FeatureAblation,
        GradientShap,
        IntegratedGradients,
        LayerConductance,
        Occlusion,
        Saliency,
    )

    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    x = torch.randn(4, 6)
    for make in (IntegratedGradients, Saliency, DeepLift, FeatureAblation):
        found = make(model).attribute(x, target=1)
        print(make.__name__, *(f"{v:.5f}" for v in found.flatten()[:5].tolist()))
    print(f"{GradientShap(model).attribute(x, torch.zeros(2, 6), target=0).sum().item():.5f}")
    print(f"{Occlusion(model).attribute(x, (2,), target=0).sum().item():.5f}")
    print(f"{LayerConductance(model, model[0]).attribute(x, target=2).sum().item():.5f}")


def diffusers():
    from diffusers import (  # fmt: skip
        AutoencoderKL,
        DDIMScheduler,
        DDPMScheduler,
        EulerDiscreteScheduler,
        UNet2DModel,
    )

    torch.manual_seed(0)
    net = UNet2DModel(
        sample_size=8,
        in_channels=3,
        out_channels=3,
        block_out_channels=(32, 32),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    noise = DDPMScheduler(50)
    clean, mixed = torch.randn(2, 3, 8, 8), torch.randn(2, 3, 8, 8)
    times = torch.tensor([3, 30])
    noisy = noise.add_noise(clean, mixed, times)
    train(net, noisy, times, loss=lambda out: (out.sample - mixed).square().mean())
    for kind in (DDPMScheduler, DDIMScheduler, EulerDiscreteScheduler):
        schedule = kind(50)
        schedule.set_timesteps(3)
        x = torch.ones(1, 3, 8, 8)
        with torch.no_grad():
            for t in schedule.timesteps:
                out = net(schedule.scale_model_input(x, t), t).sample
                more = {"generator": torch.Generator().manual_seed(0)}
                x = schedule.step(out, t, x, **more).prev_sample
        print(kind.__name__, f"{x.mean().item():.4f}")
    coder = AutoencoderKL(block_out_channels=(32,), norm_num_groups=8)
    train(coder, clean, loss=lambda out: (out.sample - clean).square().mean())


def e3nn():
    from e3nn import o3
    from e3nn.nn import FullyConnectedNet, Gate

    torch.manual_seed(0)
    kinds = o3.Irreps("4x0e + 2x1o")
    model = o3.Linear(kinds, kinds)
    product = o3.FullyConnectedTensorProduct(kinds, "1x0e + 1x1o", kinds)
    x, steer = kinds.randn(5, -1), o3.spherical_harmonics("1x0e + 1x1o", torch.randn(5, 3), True)
    train(product, model(x).detach(), steer)
    gate = Gate("2x0e", [torch.tanh], "1x0e", [torch.sigmoid], "1x1o")
    print(f"{gate(gate.irreps_in.randn(3, -1)).sum().item():.5f}")
    train(FullyConnectedNet([4, 8, 2], torch.nn.functional.silu), torch.randn(6, 4))
    print(*(f"{v:.5f}" for v in o3.rand_matrix().flatten().tolist()))


def einx():
    import einx

    torch.manual_seed(0)
    x = torch.randn(2, 4, 6, requires_grad=True)
    w = torch.randn(6, 3, requires_grad=True)
    out = einx.dot("b s [c], [c] d -> b s d", x, w)
    loss = einx.mean("b [s] d", einx.softmax("b s [d]", out)).square().sum()
    loss.backward()
    print(f"{loss.item():.6f} {x.grad.abs().sum().item():.6f} {w.grad.norm().item():.6f}")


def fvcore():
    from fvcore.nn import giou_loss, sigmoid_focal_loss, smooth_l1_loss
    from fvcore.nn.precise_bn import update_bn_stats

    torch.manual_seed(0)
    x, y = torch.randn(6, 4, requires_grad=True), torch.rand(6, 4).round()
    for value in (
        sigmoid_focal_loss(x, y, reduction="mean"),
        smooth_l1_loss(x, y, 0.5, reduction="mean"),
        giou_loss(x.abs().cumsum(1), y.cumsum(1) + 1, reduction="mean"),
    ):
        (grad,) = torch.autograd.grad(value, x)
        print(f"{value.item():.6f} {grad.abs().sum().item():.6f}")
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    update_bn_stats(model, [torch.randn(2, 3, 8, 8) for _ in range(3)], 3)
    print(*(f"{v:.6f}" for v in model[1].running_var.tolist()))


def ignite():
    from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
    from ignite.metrics import Accuracy, Loss

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    data = torch.utils.data.TensorDataset(torch.randn(40, 6), torch.randint(0, 3, (40,)))
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
    loss = torch.nn.CrossEntropyLoss()
    trainer = create_supervised_trainer(model, torch.optim.Adam(model.parameters(), 1e-2), loss)
    judge = create_supervised_evaluator(model, metrics={"accuracy": Accuracy(), "loss": Loss(loss)})

    @trainer.on(Events.EPOCH_COMPLETED)
    def report(engine):
        judge.run(loader)
        print(engine.state.epoch, f"{engine.state.output:.6f}", *(f"{v:.6f}" for v in judge.state.metrics.values()))  # fmt: skip

    trainer.run(loader, max_epochs=3)


def kornia():
    import kornia

    torch.manual_seed(0)
    x = torch.rand(2, 3, 16, 16, requires_grad=True)
    for name, out in {
        "blur": kornia.filters.gaussian_blur2d(x, (3, 3), (1.0, 1.0)),
        "sobel": kornia.filters.sobel(x),
        "hsv": kornia.color.rgb_to_hsv(x),
        "lab": kornia.color.rgb_to_lab(x),
        "rotate": kornia.geometry.rotate(x, torch.tensor([20.0, 45.0])),
        "warp": kornia.geometry.warp_perspective(x, torch.eye(3).repeat(2, 1, 1) + 0.01, (12, 12)),
        "harris": kornia.feature.harris_response(x.mean(1, keepdim=True)),
        "ssim": kornia.losses.ssim_loss(x, x.detach().flip(-1), 5),
        "erode": kornia.morphology.erosion(x, torch.ones(3, 3)),
    }.items():
        (grad,) = torch.autograd.grad(out.sum(), x)
        print(name, f"{out.mean().item():.5f} {grad.abs().sum().item():.4f}")
    more = kornia.augmentation.AugmentationSequential(
        kornia.augmentation.RandomHorizontalFlip(p=0.5),
        kornia.augmentation.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0),
        kornia.augmentation.RandomAffine(15.0, p=1.0),
    )
    print(f"{more(x.detach()).mean().item():.5f}")


def lpips():
    import lpips

    torch.manual_seed(0)
    loss = lpips.LPIPS(net="alex", pretrained=True, pnet_rand=True, verbose=False)
    x, y = torch.rand(1, 3, 64, 64, requires_grad=True), torch.rand(1, 3, 64, 64)
    value = loss(x, y).sum()
    value.backward()
    print(f"{value.item():.5f} {x.grad.abs().sum().item():.5f}")


def monai():
    from monai.losses import DiceCELoss
    from monai.metrics import DiceMetric
    from monai.networks.nets import UNETR, BasicUNet
    from monai.transforms import Compose, RandFlip, RandGaussianNoise, ScaleIntensity

    torch.manual_seed(0)
    x, y = torch.randn(1, 1, 32, 32), torch.randint(0, 2, (1, 1, 32, 32))
    net = BasicUNet(spatial_dims=2, in_channels=1, out_channels=2, features=(4, 4, 8, 8, 8, 4))
    loss = DiceCELoss(to_onehot_y=True, softmax=True)
    train(net, x, loss=lambda out: loss(out, y))
    net = UNETR(1, 2, img_size=32, feature_size=4, hidden_size=16, mlp_dim=16, num_heads=2, spatial_dims=2)  # fmt: skip
    train(net, x, loss=lambda out: loss(out, y), steps=1)
    metric = DiceMetric(include_background=True)
    print(f"{metric(y.float(), (x > 0).float()).item():.5f}")
    change = Compose([ScaleIntensity(), RandFlip(prob=0.5), RandGaussianNoise(prob=1.0)])
    change.set_random_state(0)
    print(f"{change(x[0]).sum().item():.4f}")


def nnAudio():
    from nnAudio.features import STFT, CQT1992v2, MelSpectrogram

    torch.manual_seed(0)
    x = torch.randn(1, 8000)
    for layer in (
        STFT(n_fft=256, hop_length=128, output_format="Magnitude", verbose=False),
        MelSpectrogram(
            sr=8000, n_fft=256, n_mels=16, hop_length=128, verbose=False, trainable_mel=True
        ),
        CQT1992v2(sr=8000, hop_length=256, fmin=220, n_bins=24, verbose=False),
    ):
        out = layer(x)
        print(type(layer).__name__, tuple(out.shape), f"{out.mean().item():.5f}")


def piqa():
    import piqa

    torch.manual_seed(0)
    x, y = torch.rand(1, 3, 48, 48, requires_grad=True), torch.rand(1, 3, 48, 48)
    for loss in (piqa.PSNR(), piqa.SSIM(), piqa.HaarPSI(), piqa.GMSD(), piqa.TV()):
        value = loss(x) if isinstance(loss, piqa.TV) else loss(x, y)
        (grad,) = torch.autograd.grad(value, x)
        print(type(loss).__name__, f"{value.item():.5f} {grad.abs().sum().item():.4f}")


def pytorch_msssim():
    from pytorch_msssim import MS_SSIM, ssim

    torch.manual_seed(0)
    x, y = torch.rand(1, 3, 176, 176, requires_grad=True), torch.rand(1, 3, 176, 176)
    for value in (ssim(x, y, data_range=1.0), MS_SSIM(data_range=1.0, channel=3)(x, (x + y) / 2)):
        (grad,) = torch.autograd.grad(value, x)
        print(f"{value.item():.5f} {grad.abs().sum().item():.4f}")


def pytorch_tabnet():
    import numpy as np
    from pytorch_tabnet.tab_model import TabNetClassifier

    random = np.random.RandomState(0)
    x = random.randn(128, 6).astype(np.float32)
    y = (x[:, 0] + x[:, 1] > 0).astype(int)
    model = TabNetClassifier(n_d=4, n_a=4, n_steps=2, seed=0, verbose=0, device_name="cpu")
    model.fit(x, y, eval_set=[(x, y)], max_epochs=3, batch_size=64, virtual_batch_size=32)
    print(*(f"{v:.5f}" for v in model.history["loss"]), *(f"{v:.5f}" for v in model.feature_importances_))  # fmt: skip


def pytorch_wavelets():
    from pytorch_wavelets import DTCWTForward, DWTForward, DWTInverse

    torch.manual_seed(0)
    x = torch.randn(1, 2, 32, 32, requires_grad=True)
    low, high = DWTForward(J=2, wave="db2", mode="zero")(x)
    back = DWTInverse(wave="db2", mode="zero")((low, high))
    (grad,) = torch.autograd.grad(high[0].abs().sum(), x)
    print(
        f"{low.sum().item():.4f} {grad.abs().sum().item():.3f} {(back - x).abs().max().item():.3f}"
    )
    low, high = DTCWTForward(J=2)(x)
    print(f"{low.sum().item():.4f}", *(f"{h.abs().sum().item():.3f}" for h in high))


def segmentation_models_pytorch():
    import segmentation_models_pytorch as smp

    torch.manual_seed(0)
    x, y = torch.randn(4, 3, 32, 32).double(), torch.randint(0, 2, (4, 1, 32, 32))
    dice = smp.losses.DiceLoss("binary")
    for kind in (smp.Unet, smp.FPN, smp.Linknet):
        # batch norms of four values magnify roundings of float32 to the third digit
        net = kind("resnet18", encoder_weights=None).double()
        train(net, x, loss=lambda out: dice(out, y.float()), steps=2)
    counts = smp.metrics.get_stats(y, y.flip(-1), mode="binary")
    print(f"{smp.metrics.iou_score(*counts, reduction='micro').item():.5f}")


def torch_fidelity():
    from torch_fidelity.metric_fid import fid_features_to_statistics, fid_statistics_to_metric

    torch.manual_seed(0)
    a, b = torch.randn(60, 16), torch.randn(60, 16) + 0.5
    one, two = fid_features_to_statistics(a), fid_features_to_statistics(b)
    found = fid_statistics_to_metric(one, two, verbose=False)
    print(*(f"{v:.5f}" for v in found.values()))


def torch_pruning():
    import torch_pruning

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3), torch.nn.Flatten(), torch.nn.Linear(128, 4)
    )  # fmt: skip
    x = torch.randn(2, 3, 8, 8)
    pruner = torch_pruning.pruner.MagnitudePruner(
        model,
        x,
        importance=torch_pruning.importance.MagnitudeImportance(p=2),
        pruning_ratio=0.5,
        ignored_layers=[model[5]],
    )
    pruner.step()
    print(*(tuple(p.shape) for p in model.parameters()))
    train(model, x)
    print(*torch_pruning.utils.count_ops_and_params(model, x))


def torchio():
    import torchio

    torch.manual_seed(0)
    subject = torchio.Subject(image=torchio.ScalarImage(tensor=torch.rand(1, 12, 12, 12)))
    for change in (
        torchio.RandomFlip(axes=(0, 1), flip_probability=1.0),
        torchio.RandomNoise(std=0.1),
        torchio.ZNormalization(),
        torchio.CropOrPad(8),
        torchio.RandomGamma(),
    ):
        subject = change(subject)
        data = subject.image.data
        print(type(change).__name__, tuple(data.shape), f"{data.float().abs().mean().item():.5f}")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
