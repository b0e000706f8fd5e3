import torch
import transformers as hf

torch.manual_seed(0)
tokens = torch.randint(0, 90, (2, 12))
pictures, sounds, labels = torch.randn(2, 3, 32, 32), torch.randn(2, 8, 40), torch.tensor([1, 2])
small = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
}  # fmt: skip


def train(name, model, **batch):
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(f"{loss.item():.5f}")
    print(name, *losses)


text = {"input_ids": tokens, "labels": tokens}
config = hf.LlamaConfig(**small, vocab_size=100, num_key_value_heads=1)
train("llama", hf.LlamaForCausalLM(config), **text)
config = hf.BertConfig(**small, vocab_size=100, max_position_embeddings=32)
train("bert", hf.BertForMaskedLM(config), **text)
config = hf.T5Config(
    vocab_size=100,
    d_model=32,
    d_ff=64,
    num_layers=2,
    num_heads=2,
    d_kv=16,
    decoder_start_token_id=0,
)
train("t5", hf.T5ForConditionalGeneration(config), **text)
config = hf.ViTConfig(**small, image_size=32, patch_size=8, num_labels=5)
train("vit", hf.ViTForImageClassification(config), pixel_values=pictures, labels=labels)
config = hf.WhisperConfig(
    vocab_size=100, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
    decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=8, max_source_positions=20,
    max_target_positions=20, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    suppress_tokens=None, begin_suppress_tokens=None,
)  # fmt: skip
train("whisper", hf.WhisperForConditionalGeneration(config), input_features=sounds, labels=tokens)
