"""The tasks of module 5: a GPT, and from MiniTorch to Torch."""

from __future__ import annotations

from .record import Task, places

_TESTS = ("test_transformer.py",)

TASKS: tuple[Task, ...] = (
    Task(
        "5.1",
        "Embeddings",
        places(
            "transformer.py",
            (
                "one_hot",
                "A list of lists, a row for each id, then `tensor` with requires_grad=False.",
                "for i in ids:\n"
                "    if i < 0 or i >= size:\n"
                '        raise ValueError(f"no id: {i}")\n'
                "rows = [[1.0 if j == i else 0.0 for j in range(size)] for i in ids]\n"
                "return tensor(rows, backend, requires_grad=False)",
            ),
            (
                "Embedding.forward",
                "A row of zeros with a single one, times a matrix, is one row of the matrix. Do it for "
                "all ids of all rows in one product, then view the result as B x T x C.",
                "flat = [i for row in ids for i in row]\n"
                "out = one_hot(flat, self.count, self.backend) @ self.weight.value\n"
                "return out.view(len(ids), len(ids[0]), self.width)",
            ),
            (
                "TextEmbedding.forward",
                "Places are ids, too: 0, 1, 2, ... They are the same for every row, so one row of them "
                "is enough: broadcasting does the rest.",
                "places = [list(range(len(ids[0])))]\n"
                "return self.characters(ids) + self.places(places)",
            ),
        ),
        _TESTS,
        "Characters become rows of numbers that can be learned. Looking a row up is a product with a "
        "one-hot row, so its gradient is there already.",
    ),
    Task(
        "5.2",
        "Layer norm and GELU",
        places(
            "transformer.py",
            (
                "LayerNorm.forward",
                "mean along the last dimension keeps it with size 1, so subtracting it broadcasts. "
                "There is no square root in the library: halve the logarithm, as the docstring says.",
                "last = x.dims - 1\n"
                "d = x - x.mean(last)\n"
                "v = (d * d).mean(last)\n"
                "return d * (v.log() * -0.5).exp() * self.weight.value + self.bias.value",
            ),
            (
                "gelu",
                "Only products, sums and a sigmoid: write the formula of the docstring down.",
                "u = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)\n"
                "return x * (2.0 * u).sigmoid()",
            ),
        ),
        _TESTS,
        "Numbers that stay of one size through many layers, and a ReLU without a corner. Both are made of "
        "operations whose gradients you have written.",
    ),
    Task(
        "5.3",
        "Attention",
        places(
            "transformer.py",
            (
                "causal_mask",
                "Row i is for the place that looks, column j for the one that is looked at. e to the "
                "power of minus infinity is 0.",
                "rows = [[0.0 if j <= i else -math.inf for j in range(length)] for i in range(length)]\n"
                "return tensor(rows, backend, requires_grad=False)",
            ),
            (
                "attention",
                "Scores are N x T x T: permute the key so that the product fits. Then the mask, and a "
                "softmax over the places that are looked at.",
                "n, length, width = query.shape\n"
                "scores = query @ key.permute(0, 2, 1) / math.sqrt(width)\n"
                "weights = softmax(scores + causal_mask(length, query.backend), 2)\n"
                "return weights @ value",
            ),
            (
                "split_heads",
                "As tile in module 4: view cuts the width in two, permute brings the heads next to the "
                "batch, a last view joins batch and heads.",
                "b, t, c = x.shape\n"
                "x = x.contiguous().view(b, t, heads, c // heads).permute(0, 2, 1, 3)\n"
                "return x.contiguous().view(b * heads, t, c // heads)",
            ),
            (
                "join_heads",
                "The steps of split_heads, backwards: cut the batch in two, permute, join.",
                "n, t, c = x.shape\n"
                "x = x.contiguous().view(n // heads, heads, t, c).permute(0, 2, 1, 3)\n"
                "return x.contiguous().view(n // heads, t, heads * c)",
            ),
            (
                "CausalSelfAttention.forward",
                "Three layers make queries, keys and values of the same x; each is split into heads.",
                "q, k, v = [split_heads(f(x), self.heads) for f in (self.query, self.key, self.value)]\n"
                "return self.merge(join_heads(attention(q, k, v), self.heads))",
            ),
        ),
        _TESTS,
        "Every place takes a mean of what stands before it, and decides itself how much of what: the "
        "weights come from products of queries and keys.",
        points=15,
    ),
    Task(
        "5.4",
        "The GPT",
        places(
            "transformer.py",
            (
                "Block.forward",
                "Normalize, compute, add to what came in. Twice, and the second time from the sum.",
                "x = x + self.attention(self.norm1(x))\n"
                "return x + self.narrow(gelu(self.widen(self.norm2(x))))",
            ),
            (
                "GPT.forward",
                "Four modules, one after the other.",
                "return self.head(self.norm(self.blocks(self.embedding(ids))))",
            ),
            (
                "GPT.generate",
                "Ask the model about the last `length` ids, take the scores at the last place, pick, "
                "append; repeat. Copy the list that you were given.",
                "text = list(ids)\n"
                "for _ in range(count):\n"
                "    scores = self.forward([text[-self.length :]])\n"
                "    last = scores.to_numpy()[0, -1]\n"
                "    text.append(pick(list(last), temperature, random.random()))\n"
                "return text",
            ),
            (
                "cross_entropy",
                "logsoftmax gives the logarithms; a product with one-hot rows keeps those of the right "
                "characters. How many places are there?",
                "b, t, v = scores.shape\n"
                "flat = [i for row in targets for i in row]\n"
                "logs = logsoftmax(scores, 2).view(b * t, v)\n"
                "return -(logs * one_hot(flat, v, scores.backend)).sum() / (b * t)",
            ),
            (
                "pick",
                "Divide the scores before the softmax. Then add probabilities up until the sum passes "
                "chance.",
                "p = softmax(tensor([s / temperature for s in scores]), 0)\n"
                "total = 0.0\n"
                "for i in range(len(scores)):\n"
                "    total += p[i]\n"
                "    if total > chance:\n"
                "        return i\n"
                "return len(scores) - 1",
            ),
        ),
        _TESTS,
        "Blocks on top of each other, a loss that says how surprising the next character was, and a "
        "loop that writes. `python project/run_gpt.py --floor ground` then trains it.",
        points=15,
    ),
    Task(
        "5.5",
        "From MiniTorch to Torch",
        places(
            "torch_transformer.py",
            (
                "TextEmbedding.forward",
                "nn.Embedding looks rows up by whole numbers in a tensor; torch.arange makes the places.",
                "return self.characters(ids) + self.places(torch.arange(ids.shape[1]))",
            ),
            (
                "CausalSelfAttention.forward",
                "view and transpose cut into heads, as a dimension of their own; "
                "scaled_dot_product_attention scales, masks, and takes softmax and mean.",
                "b, t, c = x.shape\n"
                "q = self.query(x).view(b, t, self.heads, c // self.heads).transpose(1, 2)\n"
                "k = self.key(x).view(b, t, self.heads, c // self.heads).transpose(1, 2)\n"
                "v = self.value(x).view(b, t, self.heads, c // self.heads).transpose(1, 2)\n"
                "y = F.scaled_dot_product_attention(q, k, v, is_causal=True)\n"
                "return self.merge(y.transpose(1, 2).reshape(b, t, c))",
            ),
            (
                "Block.forward",
                "The same two lines as on the ground floor, with F.gelu.",
                "x = x + self.attention(self.norm1(x))\n"
                'return x + self.narrow(F.gelu(self.widen(self.norm2(x)), approximate="tanh"))',
            ),
            (
                "GPT.forward",
                "The same line as on the ground floor.",
                "return self.head(self.norm(self.blocks(self.embedding(ids))))",
            ),
            (
                "GPT.generate",
                "Indexing adds and takes dimensions: ids[None] is a batch of one, scores[0, -1] the last "
                "place. torch.cat puts the drawn id behind the others.",
                "for _ in range(count):\n"
                "    scores = self(ids[-self.length :][None])[0, -1]\n"
                "    p = (scores / temperature).softmax(0)\n"
                "    ids = torch.cat([ids, torch.multinomial(p, 1)])\n"
                "return ids",
            ),
            (
                "carry_over",
                "Go through the parameters of source by name, and copy_ each into the parameter of target "
                "with that name. Which matrices must be transposed? A square one shows no error.",
                "modules = dict(target.named_modules())\n"
                "with torch.no_grad():\n"
                "    for name, parameter in source.named_parameters():\n"
                "        values = torch.tensor(parameter.value.to_numpy())\n"
                '        layer = modules[name.rpartition(".")[0]]\n'
                '        if isinstance(layer, nn.Linear) and name.endswith("weight"):\n'
                "            values = values.T\n"
                "        target.get_parameter(name).copy_(values)",
            ),
            (
                "train_step",
                "The loop of module 4 in Torch's words: zero_grad, loss, backward, clip, step.",
                "optimizer.zero_grad()\n"
                "loss = F.cross_entropy(model(ids).flatten(0, 1), targets.flatten())\n"
                "loss.backward()\n"
                "nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
                "optimizer.step()\n"
                "return loss.item()",
            ),
        ),
        ("test_torch_transformer.py",),
        "The same model in the words that others use. With the weights of the ground floor it must give "
        "the same scores; then it is trained until it writes: `python project/run_gpt.py`.",
        points=15,
    ),
)
