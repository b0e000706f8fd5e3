"""Libraries of attention, embeddings and quantizers: `python sequences.py LIBRARY`."""

import sys

import torch


def train(model, *batch, loss=None, steps=3, lr=1e-3):
    """Print the losses of a few steps."""
    optimizer = torch.optim.Adam(model.parameters(), lr)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        out = model(*batch)
        value = loss(out) if loss else out.square().mean()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    print(type(model).__name__, *(f"{v:.6f}" for v in losses))


def entmax():
    import entmax

    torch.manual_seed(0)
    x = torch.randn(4, 7, requires_grad=True)
    y = torch.tensor([0, 2, 5, 6])
    for loss in (entmax.Entmax15Loss(), entmax.SparsemaxLoss(), entmax.EntmaxBisectLoss(1.3)):
        value = loss(x, y)
        (grad,) = torch.autograd.grad(value, x)
        print(f"{value.item():.6f}", *(f"{v:.6f}" for v in grad.abs().sum(1).tolist()))
    print(*(f"{v:.6f}" for v in entmax.entmax15(x, -1).flatten()[:8].tolist()))


def linformer():
    from linformer import LinformerLM

    torch.manual_seed(0)
    model = LinformerLM(num_tokens=50, dim=16, seq_len=32, depth=2, heads=2, k=8)
    train(model, torch.randint(0, 50, (2, 32)))


def local_attention():
    from local_attention.transformer import LocalTransformer

    torch.manual_seed(0)
    model = LocalTransformer(
        num_tokens=50,
        dim=16,
        depth=2,
        max_seq_len=64,
        local_attn_window_size=16,
        heads=2,
        dim_head=8,
    )
    x = torch.randint(0, 50, (2, 64))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(x, return_loss=True)
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.6f}")


def mambapy():
    from mambapy.mamba import Mamba, MambaConfig

    torch.manual_seed(0)
    train(Mamba(MambaConfig(d_model=16, n_layers=2)), torch.randn(2, 16, 16))


def performer_pytorch():
    from performer_pytorch import PerformerLM

    torch.manual_seed(0)
    model = PerformerLM(
        num_tokens=50,
        dim=16,
        depth=2,
        max_seq_len=32,
        heads=2,
        dim_head=8,
        causal=False,
        reversible=True,
    )
    train(model, torch.randint(0, 50, (2, 32)))


def reformer_pytorch():
    from reformer_pytorch import ReformerLM

    torch.manual_seed(0)
    model = ReformerLM(
        num_tokens=50,
        dim=16,
        depth=2,
        max_seq_len=64,
        heads=2,
        bucket_size=8,
        n_hashes=2,
        causal=True,
    )
    train(model, torch.randint(0, 50, (2, 64)))


def ring_attention_pytorch():
    from ring_attention_pytorch import RingAttention

    torch.manual_seed(0)
    model = RingAttention(dim=16, dim_head=8, heads=2, causal=True, bucket_size=16, ring_attn=False)
    train(model, torch.randn(2, 32, 16))


def rotary_embedding_torch():
    from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

    torch.manual_seed(0)
    turn = RotaryEmbedding(dim=8, use_xpos=True, learned_freq=True)
    q, k = torch.randn(1, 2, 10, 16), torch.randn(1, 2, 10, 16)
    q2, k2 = turn.rotate_queries_and_keys(q, k)
    (q2 * k2).sum().backward()
    print(*(f"{v:.6f}" for v in [*q2.flatten()[:4].tolist(), *turn.freqs.grad.tolist()]))
    pixels = RotaryEmbedding(dim=4, freqs_for="pixel", max_freq=10)
    freqs = pixels.get_axial_freqs(4, 3)
    print(*(f"{v:.6f}" for v in apply_rotary_emb(freqs, torch.randn(1, 4, 3, 8)).flatten()[:5].tolist()))  # fmt: skip


def tab_transformer_pytorch():
    from tab_transformer_pytorch import FTTransformer, TabTransformer

    torch.manual_seed(0)
    sizes = {"categories": (4, 3, 5), "num_continuous": 3, "dim": 8, "dim_out": 1, "depth": 2, "heads": 2}  # fmt: skip
    for kind, more in ((TabTransformer, {"mlp_act": torch.nn.ReLU()}), (FTTransformer, {})):
        model = kind(**sizes, attn_dropout=0.1, ff_dropout=0.1, **more)
        train(model, torch.randint(0, 3, (4, 3)), torch.randn(4, 3))


def torchcrf():
    from torchcrf import CRF

    torch.manual_seed(0)
    model = CRF(5, batch_first=True)
    emissions = torch.randn(3, 6, 5, requires_grad=True)
    tags = torch.randint(0, 5, (3, 6))
    mask = torch.ones(3, 6, dtype=torch.bool)
    mask[1, 4:] = False
    optimizer = torch.optim.SGD([*model.parameters(), emissions], 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = -model(emissions, tags, mask=mask)
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.6f}")
    print(model.decode(emissions, mask=mask))


def vector_quantize_pytorch():
    from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, VectorQuantize

    torch.manual_seed(0)
    x = torch.randn(2, 32, 8)
    kinds = [
        VectorQuantize(dim=8, codebook_size=16, decay=0.8, commitment_weight=1.0),
        VectorQuantize(dim=8, codebook_size=16, kmeans_init=True, use_cosine_sim=True),
        ResidualVQ(dim=8, num_quantizers=2, codebook_size=16),
        FSQ(levels=[4, 3, 5], dim=8),
        LFQ(codebook_size=16, dim=8, entropy_loss_weight=0.1),
    ]
    for kind in kinds:
        for _ in range(2):
            out = kind(x)
            print(type(kind).__name__, f"{out[0].abs().mean().item():.6f}", int(out[1].sum()))


def byol_pytorch():
    from byol_pytorch import BYOL
    from torchvision.models import resnet18

    torch.manual_seed(0)
    learner = BYOL(
        resnet18(num_classes=10),
        image_size=32,
        hidden_layer="avgpool",
        projection_size=16,
        projection_hidden_size=32,
        augment_fn=torch.nn.Identity(),
    ).double()  # batch norms of four values magnify roundings of float32 to the third digit
    optimizer = torch.optim.SGD(learner.parameters(), lr=1e-3)
    images = torch.randn(4, 3, 32, 32).double()
    for _ in range(2):
        loss = learner(images)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        learner.update_moving_average()
        print(f"{loss.item():.4f}")


def denoising_diffusion_pytorch():
    from denoising_diffusion_pytorch import GaussianDiffusion, Unet

    torch.manual_seed(0)
    model = GaussianDiffusion(
        Unet(dim=8, dim_mults=(1, 2), flash_attn=False),
        image_size=16,
        timesteps=20,
        sampling_timesteps=3,
    )
    train(model, torch.rand(2, 3, 16, 16), loss=lambda out: out, steps=2)
    print(f"{model.sample(batch_size=1).mean().item():.4f}")


def sentence_transformers():
    from sentence_transformers import SentenceTransformer, models
    from sentence_transformers.losses import CosineSimilarityLoss, MultipleNegativesRankingLoss

    torch.manual_seed(0)
    bag = models.BoW(vocab=[f"w{i}" for i in range(30)])
    dense = models.Dense(bag.get_sentence_embedding_dimension(), 8)
    model = SentenceTransformer(modules=[bag, dense], device="cpu")
    texts = ["w1 w2 w3", "w4 w5", "w1 w9 w20", "w7"]
    print(*(f"{v:.6f}" for v in model.encode(texts).flatten()[:8]))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for loss, labels in (
        (CosineSimilarityLoss(model), torch.tensor([0.9, 0.1])),
        (MultipleNegativesRankingLoss(model), None),
    ):
        for _ in range(2):
            features = [model.tokenize(texts[:2]), model.tokenize(texts[2:])]
            optimizer.zero_grad()
            value = loss(features, labels)
            value.backward()
            optimizer.step()
            print(f"{value.item():.6f}")


def open_clip():
    import open_clip
    from open_clip.loss import ClipLoss
    from open_clip.model import CLIP

    torch.manual_seed(0)
    model = CLIP(
        embed_dim=16,
        vision_cfg={"layers": 2, "width": 32, "head_width": 16, "patch_size": 8, "image_size": 32},
        text_cfg={"context_length": 12, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2},
    )
    tokens = open_clip.get_tokenizer("ViT-B-32", context_length=12)(["a dog", "two cats"])
    images = torch.randn(2, 3, 32, 32)
    loss = ClipLoss()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(3):
        optimizer.zero_grad()
        value = loss(*model(images, tokens))
        value.backward()
        optimizer.step()
        print(f"{value.item():.6f}")


def trl():
    from datasets import Dataset
    from transformers import GPT2Config, GPT2LMHeadModel
    from trl.experimental.utils import create_reference_model
    from trl.trainer.utils import selective_log_softmax

    torch.manual_seed(0)
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=40, n_positions=16, n_embd=16, n_layer=2, n_head=2)
    )
    model.eval()
    reference = create_reference_model(model)
    rows = Dataset.from_dict({"ids": torch.randint(0, 40, (4, 10)).tolist()}).with_format("torch")
    chosen, rejected = rows[:2]["ids"], rows[2:]["ids"]
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)

    def log_probability(net, ids):
        return selective_log_softmax(net(ids).logits[:, :-1], ids[:, 1:]).sum(-1)

    for _ in range(3):
        optimizer.zero_grad()
        gap = log_probability(model, chosen) - log_probability(model, rejected)
        with torch.no_grad():
            old = log_probability(reference, chosen) - log_probability(reference, rejected)
        loss = -torch.nn.functional.logsigmoid(0.1 * (gap - old)).mean()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.6f}")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
