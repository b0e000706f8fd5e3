"""PyTorch's tutorials on text and on acting, small and without downloads: `python language.py TUTORIAL`."""

import math
import random
import string
import sys
import unicodedata
from collections import deque, namedtuple

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

NAMES = {
    "German": ["Müller", "Schäfer", "Koch", "Weiß"],
    "Polish": ["Kowalski", "Wójcik", "Nowak"],
    "French": ["Lefèvre", "Dubois", "Noël"],
}
LETTERS = string.ascii_letters + " .,;'-"


def ascii_of(text):
    """Text without accents."""
    plain = unicodedata.normalize("NFD", text)
    return "".join(c for c in plain if unicodedata.category(c) != "Mn" and c in LETTERS)


def one_hot(line):
    """A line as (letters, 1, alphabet)."""
    tensor = torch.zeros(len(line), 1, len(LETTERS))
    for li, letter in enumerate(line):
        tensor[li][0][LETTERS.find(letter)] = 1
    return tensor


def char_rnn_classification():
    class CharRNN(nn.Module):
        def __init__(self, input_size, hidden_size, output_size):
            super().__init__()
            self.rnn = nn.RNN(input_size, hidden_size)
            self.h2o = nn.Linear(hidden_size, output_size)
            self.softmax = nn.LogSoftmax(dim=1)

        def forward(self, line_tensor):
            _, hidden = self.rnn(line_tensor)
            return self.softmax(self.h2o(hidden[0]))

    torch.manual_seed(0)
    kinds = sorted(NAMES)
    lines = [(kinds.index(k), one_hot(ascii_of(n))) for k in kinds for n in NAMES[k]]
    rnn = CharRNN(len(LETTERS), 32, len(kinds))
    print(rnn)
    criterion = nn.NLLLoss()
    optimizer = torch.optim.SGD(rnn.parameters(), lr=0.15)
    for _ in range(5):
        rnn.zero_grad()
        batch_loss = 0
        for label, line in lines:
            batch_loss += criterion(rnn(line), torch.tensor([label], dtype=torch.long))
        batch_loss.backward()
        nn.utils.clip_grad_norm_(rnn.parameters(), 3)
        optimizer.step()
        optimizer.zero_grad()
        print(f"{batch_loss.item() / len(lines):.6f}")
    confusion = torch.zeros(3, 3)
    with torch.no_grad():
        for label, line in lines:
            top_n, top_i = rnn(line).topk(1)
            confusion[label][top_i[0].item()] += 1
    print(confusion / confusion.sum(1, keepdim=True))


def char_rnn_generation():
    class RNN(nn.Module):
        def __init__(self, input_size, hidden_size, output_size):
            super().__init__()
            self.hidden_size = hidden_size
            self.i2h = nn.Linear(3 + input_size + hidden_size, hidden_size)
            self.i2o = nn.Linear(3 + input_size + hidden_size, output_size)
            self.o2o = nn.Linear(hidden_size + output_size, output_size)
            self.dropout = nn.Dropout(0.1)
            self.softmax = nn.LogSoftmax(dim=1)

        def forward(self, category, input, hidden):
            input_combined = torch.cat((category, input, hidden), 1)
            hidden = self.i2h(input_combined)
            output = self.i2o(input_combined)
            output = self.o2o(torch.cat((hidden, output), 1))
            return self.softmax(self.dropout(output)), hidden

    torch.manual_seed(0)
    size = len(LETTERS) + 1
    rnn = RNN(len(LETTERS), 16, size)
    criterion = nn.NLLLoss()
    for step in range(12):
        kind = step % 3
        word = ascii_of(NAMES[sorted(NAMES)[kind]][step % 3])
        category = F.one_hot(torch.tensor([kind]), 3).float()
        ids = [LETTERS.find(c) for c in word[1:]] + [size - 1]
        target = torch.LongTensor(ids)
        target.unsqueeze_(-1)
        hidden = torch.zeros(1, rnn.hidden_size)
        rnn.zero_grad()
        loss = torch.Tensor([0])
        for i in range(len(word)):
            output, hidden = rnn(category, one_hot(word)[i], hidden)
            loss += criterion(output, target[i])
        loss.backward()
        for p in rnn.parameters():
            p.data.add_(p.grad.data, alpha=-0.05)
        print(f"{(loss / len(word)).item():.6f}")
    with torch.no_grad():
        word, hidden = "K", torch.zeros(1, rnn.hidden_size)
        for _ in range(10):
            output, hidden = rnn(F.one_hot(torch.tensor([0]), 3), one_hot(word)[-1], hidden)
            topi = output.topk(1)[1][0][0]
            if topi == size - 1:
                break
            word += LETTERS[topi]
        print(word)


def seq2seq_translation():
    SOS, EOS, SIZE, LENGTH, H = 0, 1, 12, 6, 16

    class EncoderRNN(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(SIZE, H)
            self.gru = nn.GRU(H, H, batch_first=True)
            self.dropout = nn.Dropout(0.1)

        def forward(self, input):
            return self.gru(self.dropout(self.embedding(input)))

    class BahdanauAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.Wa, self.Ua, self.Va = nn.Linear(H, H), nn.Linear(H, H), nn.Linear(H, 1)

        def forward(self, query, keys):
            scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
            weights = F.softmax(scores.squeeze(2).unsqueeze(1), dim=-1)
            return torch.bmm(weights, keys), weights

    class AttnDecoderRNN(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(SIZE, H)
            self.attention = BahdanauAttention()
            self.gru = nn.GRU(2 * H, H, batch_first=True)
            self.out = nn.Linear(H, SIZE)
            self.dropout = nn.Dropout(0.1)

        def forward(self, encoder_outputs, hidden, target=None):
            input = torch.empty(encoder_outputs.size(0), 1, dtype=torch.long).fill_(SOS)
            outputs, attentions = [], []
            for i in range(LENGTH):
                embedded = self.dropout(self.embedding(input))
                context, weights = self.attention(hidden.permute(1, 0, 2), encoder_outputs)
                output, hidden = self.gru(torch.cat((embedded, context), dim=2), hidden)
                output = self.out(output)
                outputs.append(output)
                attentions.append(weights)
                if target is not None:
                    input = target[:, i].unsqueeze(1)
                else:
                    input = output.topk(1)[1].squeeze(-1).detach()
            return (
                F.log_softmax(torch.cat(outputs, dim=1), dim=-1),
                hidden,
                torch.cat(attentions, 1),
            )

    torch.manual_seed(0)
    source = torch.randint(2, SIZE, (16, LENGTH))
    target = source.flip(1)
    target[:, -1] = EOS
    data = TensorDataset(source, target)
    loader = DataLoader(data, sampler=RandomSampler(data), batch_size=8)
    encoder, decoder = EncoderRNN(), AttnDecoderRNN()
    optimizers = [optim.Adam(m.parameters(), lr=0.01) for m in (encoder, decoder)]
    for _ in range(3):
        for x, y in loader:
            for each in optimizers:
                each.zero_grad()
            outputs, hidden = encoder(x)
            predicted, _, _ = decoder(outputs, hidden, y)
            loss = nn.NLLLoss()(predicted.view(-1, predicted.size(-1)), y.view(-1))
            loss.backward()
            for each in optimizers:
                each.step()
            print(f"{loss.item():.6f}")
    with torch.no_grad():
        encoder.eval()
        decoder.eval()
        predicted, _, attentions = decoder(*encoder(source[:1]))
        print(predicted.topk(1)[1].squeeze().tolist(), attentions.shape)


def transformer():
    class PositionalEncoding(nn.Module):
        def __init__(self, d_model, dropout=0.1, max_len=50):
            super().__init__()
            self.dropout = nn.Dropout(p=dropout)
            position = torch.arange(max_len).unsqueeze(1)
            div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
            pe = torch.zeros(max_len, 1, d_model)
            pe[:, 0, 0::2] = torch.sin(position * div_term)
            pe[:, 0, 1::2] = torch.cos(position * div_term)
            self.register_buffer("pe", pe)

        def forward(self, x):
            return self.dropout(x + self.pe[: x.size(0)])

    class TransformerModel(nn.Module):
        def __init__(self, ntoken=20, d_model=16):
            super().__init__()
            self.pos_encoder = PositionalEncoding(d_model)
            layer = nn.TransformerEncoderLayer(d_model, 2, 32, 0.1)
            self.transformer_encoder = nn.TransformerEncoder(layer, 2)
            self.embedding = nn.Embedding(ntoken, d_model)
            self.linear = nn.Linear(d_model, ntoken)
            self.embedding.weight.data.uniform_(-0.1, 0.1)

        def forward(self, src):
            src = self.pos_encoder(self.embedding(src) * math.sqrt(16))
            mask = nn.Transformer.generate_square_subsequent_mask(len(src))
            return self.linear(self.transformer_encoder(src, mask))

    torch.manual_seed(0)
    model = TransformerModel()
    data = torch.randint(20, (40, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1.0, gamma=0.95)
    for i in range(0, 36, 6):
        loss = nn.CrossEntropyLoss()(
            model(data[i : i + 6]).view(-1, 20), data[i + 1 : i + 7].reshape(-1)
        )
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        scheduler.step()
        print(f"{loss.item():.6f} {math.exp(loss.item()):.4f}")
    whole = nn.Transformer(16, 2, 2, 2, 32, batch_first=True).eval()
    x, y = torch.randn(2, 5, 16), torch.randn(2, 4, 16)
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    padding = torch.zeros(2, 5, dtype=torch.bool)
    padding[1, 3:] = True
    out = whole(x, y, tgt_mask=mask, src_key_padding_mask=padding, memory_key_padding_mask=padding)
    print(f"{out.abs().mean().item():.6f}")


def deep_learning_for_nlp():
    torch.manual_seed(1)
    lin = nn.Linear(5, 3)
    data = torch.randn(2, 5)
    print(lin(data), F.softmax(lin(data), dim=1).sum(), F.log_softmax(data, dim=1))
    words = "We are about to study the idea of a computational process".split()
    ids = {word: i for i, word in enumerate(words)}
    embeds = nn.Embedding(len(words), 5)
    print(embeds(torch.tensor([ids["study"]], dtype=torch.long)))
    n_grams = [(words[i - 2 : i], words[i]) for i in range(2, len(words))]
    model = nn.Sequential(embeds, nn.Flatten(0), nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 11))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        total = 0
        for context, target in n_grams:
            model.zero_grad()
            log_probs = F.log_softmax(model(torch.tensor([ids[w] for w in context])), dim=0)
            loss = nn.NLLLoss()(log_probs.view(1, -1), torch.tensor([ids[target]]))
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"{total:.6f}")
    lstm = nn.LSTM(3, 3)
    inputs = [torch.randn(1, 3) for _ in range(5)]
    hidden = (torch.randn(1, 1, 3), torch.randn(1, 1, 3))
    for i in inputs:
        out, hidden = lstm(i.view(1, 1, -1), hidden)
    out, hidden = lstm(torch.cat(inputs).view(len(inputs), 1, -1), hidden)
    print(out, hidden)


def lstm_crf():
    START, STOP = "<START>", "<STOP>"
    tags = {"B": 0, "I": 1, "O": 2, START: 3, STOP: 4}
    torch.manual_seed(1)
    embeds, lstm = nn.Embedding(9, 5), nn.LSTM(5, 2, num_layers=1, bidirectional=True)
    hidden2tag = nn.Linear(4, 5)
    transitions = nn.Parameter(torch.randn(5, 5))
    transitions.data[tags[START], :] = -10000
    transitions.data[:, tags[STOP]] = -10000

    def log_sum_exp(vec):
        best = vec[0, torch.max(vec, 1)[1].item()]
        return best + torch.log(
            torch.sum(torch.exp(vec - best.view(1, -1).expand(1, vec.size()[1])))
        )

    def loss_of(sentence, gold):
        out, _ = lstm(embeds(sentence).view(len(sentence), 1, -1), hidden)
        feats = hidden2tag(out.view(len(sentence), 4))
        forward_var = torch.full((1, 5), -10000.0)
        forward_var[0][tags[START]] = 0.0
        for feat in feats:
            alphas = [
                log_sum_exp(
                    forward_var + transitions[t].view(1, -1) + feat[t].view(1, -1).expand(1, 5)
                ).view(1)
                for t in range(5)
            ]
            forward_var = torch.cat(alphas).view(1, -1)
        alpha = log_sum_exp(forward_var + transitions[tags[STOP]])
        score, path = torch.zeros(1), torch.cat([torch.tensor([tags[START]]), gold])
        for i, feat in enumerate(feats):
            score = score + transitions[path[i + 1], path[i]] + feat[path[i + 1]]
        return alpha - score - transitions[tags[STOP], path[-1]]

    hidden = (torch.randn(2, 1, 2), torch.randn(2, 1, 2))
    params = [*embeds.parameters(), *lstm.parameters(), *hidden2tag.parameters(), transitions]
    optimizer = optim.SGD(params, lr=0.01, weight_decay=1e-4)
    for _ in range(4):
        loss = loss_of(torch.tensor([0, 3, 4, 8, 1]), torch.tensor([0, 1, 1, 2, 0]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.6f}")


def reinforcement_q_learning():
    Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
    random.seed(0)
    torch.manual_seed(0)

    class DQN(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer1, self.layer2, self.layer3 = (
                nn.Linear(4, 32),
                nn.Linear(32, 32),
                nn.Linear(32, 2),
            )

        def forward(self, x):
            return self.layer3(F.relu(self.layer2(F.relu(self.layer1(x)))))

    policy_net, target_net = DQN(), DQN()
    target_net.load_state_dict(policy_net.state_dict())
    optimizer = optim.AdamW(policy_net.parameters(), lr=3e-3, amsgrad=True)
    memory = deque([], maxlen=200)
    state = torch.zeros(1, 4)
    for step in range(60):
        if random.random() > 0.9 * math.exp(-step / 20):
            with torch.no_grad():
                action = policy_net(state).max(1).indices.view(1, 1)
        else:
            action = torch.tensor([[random.randrange(2)]], dtype=torch.long)
        reward = torch.tensor([1.0 if action.item() else 0.5])
        following = None if step % 10 == 9 else state * 0.9 + (action.item() - 0.5) * 0.1
        memory.append(Transition(state, action, following, reward))
        state = torch.zeros(1, 4) if following is None else following
        if len(memory) < 16:
            continue
        batch = Transition(*zip(*random.sample(memory, 16), strict=True))
        mask = torch.tensor(tuple(s is not None for s in batch.next_state), dtype=torch.bool)
        following = torch.cat([s for s in batch.next_state if s is not None])
        values = policy_net(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
        next_values = torch.zeros(16)
        with torch.no_grad():
            next_values[mask] = target_net(following).max(1).values
        expected = next_values * 0.99 + torch.cat(batch.reward)
        loss = nn.SmoothL1Loss()(values, expected.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
        optimizer.step()
        target, policy = target_net.state_dict(), policy_net.state_dict()
        for key in policy:
            target[key] = policy[key] * 0.005 + target[key] * 0.995
        target_net.load_state_dict(target)
        if step % 10 == 9:
            print(f"{loss.item():.5f} {values.mean().item():.5f}")


def reinforcement_ppo():
    from torch.distributions import Categorical, Independent, Normal, TanhTransform
    from torch.distributions.transformed_distribution import TransformedDistribution

    torch.manual_seed(0)
    actor = nn.Sequential(nn.LazyLinear(16), nn.Tanh(), nn.LazyLinear(2))
    critic = nn.Sequential(nn.LazyLinear(16), nn.Tanh(), nn.LazyLinear(1))
    states = torch.randn(32, 3)
    with torch.no_grad():
        loc, scale = actor(states).chunk(2, -1)
        value = critic(states)
        base = Independent(Normal(loc, F.softplus(scale) + 1e-4), 1)
        policy = TransformedDistribution(base, [TanhTransform(cache_size=1)])
        actions = policy.sample()
        before = policy.log_prob(actions)
    rewards = -actions.square().sum(-1)
    advantage, running = torch.zeros(32), 0.0
    for t in reversed(range(31)):
        delta = rewards[t] + 0.99 * value[t + 1, 0] - value[t, 0]
        running = delta + 0.99 * 0.95 * running
        advantage[t] = running
    advantage = (advantage - advantage.mean()) / advantage.std().clamp_min(1e-6)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], 3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4, 0.0)
    for _ in range(4):
        loc, scale = actor(states).chunk(2, -1)
        base = Independent(Normal(loc, F.softplus(scale) + 1e-4), 1)
        policy = TransformedDistribution(base, [TanhTransform(cache_size=1)])
        ratio = (policy.log_prob(actions) - before).exp()
        gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
        loss = -gain.mean() + F.smooth_l1_loss(critic(states)[:, 0], value[:, 0] + advantage)
        loss = loss - 1e-4 * base.entropy().mean()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(actor.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
        print(f"{loss.item():.6f} {norm.item():.6f} {optimizer.param_groups[0]['lr']:.4e}")
    choice = Categorical(logits=torch.tensor([0.1, 0.5, 0.2]))
    print(choice.sample((5,)).tolist(), choice.entropy())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
