"""Mistakes of module 5."""

from __future__ import annotations

from .record import Mistake, in_answer, in_file

MISTAKES: list[Mistake] = [
    *in_file(
        "task5_1",
        "transformer.py",
        (
            "ids counted from 1",
            "Ids begin with 0: id 0 is the first place of a row.",
            "[1.0 if place == i else 0.0 for place in range(size)]",
            "[1.0 if place == i - 1 else 0.0 for place in range(size)]",
        ),
        (
            "a negative id counts from the end",
            "ValueError for ids that are none: in Python -1 is the last place of a list, here it is a "
            "mistake that nobody would notice.",
            "if not 0 <= i < size:",
            "if not -size <= i < size:",
        ),
        (
            "one-hot rows want a gradient",
            "Ids are data: pass requires_grad=False to tensor.",
            "return tensor(rows, backend, requires_grad=False)\n\n\nclass Embedding",
            "return tensor(rows, backend)\n\n\nclass Embedding",
        ),
        (
            "batch and place exchanged",
            "The result is B x T x C: a row of ids stays a row.",
            "return rows.view(len(ids), len(ids[0]), self.width)",
            "return rows.view(len(ids[0]), len(ids), self.width).permute(1, 0, 2).contiguous()",
        ),
        (
            "the table is cut off from the graph",
            "The values are right, but the table gets no gradient: use self.weight.value itself, not a "
            "detached copy.",
            "one_hot(flat, self.count, self.backend) @ self.weight.value",
            "one_hot(flat, self.count, self.backend) @ self.weight.value.detach()",
        ),
        (
            "places count from 1",
            "The first place is 0; counted from 1, the last one has no row in the table.",
            "places = list(range(len(ids[0])))",
            "places = list(range(1, len(ids[0]) + 1))",
        ),
        (
            "places are left out",
            "The same character looks the same at every place. Add the row of its place.",
            "return self.characters(ids) + self.places([places])",
            "return self.characters(ids)",
        ),
        (
            "places are multiplied in",
            "The two rows are added, not multiplied.",
            "return self.characters(ids) + self.places([places])",
            "return self.characters(ids) * self.places([places])",
        ),
    ),
    *in_file(
        "task5_2",
        "transformer.py",
        (
            "normalized along the first dimension",
            "Each row by itself, along the last dimension: x.dims - 1.",
            "        last = x.dims - 1\n",
            "        last = 0\n",
        ),
        (
            "the mean is not subtracted",
            "Subtract the mean first, then divide.",
            "normal = centred * (variance.log() * -0.5).exp()",
            "normal = x * (variance.log() * -0.5).exp()",
        ),
        (
            "divided by the variance",
            "Divide by the square root of the variance: halve the logarithm.",
            "(variance.log() * -0.5).exp()",
            "(variance.log() * -1.0).exp()",
        ),
        (
            "multiplied by the square root",
            "Divide by the square root: a minus in front of the logarithm.",
            "(variance.log() * -0.5).exp()",
            "(variance.log() * 0.5).exp()",
        ),
        (
            "the variance is a sum",
            "The variance is a mean of squares: divide by how many there are.",
            "variance = (centred * centred).mean(last)",
            "variance = (centred * centred).sum(last)",
        ),
        (
            "the variance over n - 1",
            "Divide by n, not by n - 1: mean does it.",
            "variance = (centred * centred).mean(last)",
            "variance = (centred * centred).sum(last) / (x.shape[last] - 1)",
        ),
        (
            "an epsilon of its own",
            "log adds EPS already; with another one the result differs from the formula.",
            "variance = (centred * centred).mean(last)",
            "variance = (centred * centred).mean(last) + 1e-3",
        ),
        (
            "scale and shift are left out",
            "What is normalized is multiplied by weight, and bias is added.",
            "return normal * self.weight.value + self.bias.value",
            "return normal",
        ),
        (
            "shifted before it is scaled",
            "Scale first, then shift.",
            "return normal * self.weight.value + self.bias.value",
            "return (normal + self.bias.value) * self.weight.value",
        ),
        (
            "gelu without the factor 2",
            "sigmoid(2u), not sigmoid(u): (1 + tanh(u)) / 2 is sigmoid(2u).",
            "return x * (u * 2.0).sigmoid()",
            "return x * u.sigmoid()",
        ),
        (
            "gelu without the cube",
            "u has a second part: 0.044715 times x to the power of 3.",
            "u = (x + x * x * x * 0.044715) * math.sqrt(2.0 / math.pi)",
            "u = x * math.sqrt(2.0 / math.pi)",
        ),
        (
            "gelu forgets x",
            "x times the sigmoid, not the sigmoid alone.",
            "return x * (u * 2.0).sigmoid()",
            "return (u * 2.0).sigmoid()",
        ),
    ),
    *in_file(
        "task5_3",
        "transformer.py",
        (
            "the mask is upside down",
            "Place i may look at j <= i. Yours hides the past and shows the future.",
            "[0.0 if j <= i else -math.inf for j in places]",
            "[0.0 if j >= i else -math.inf for j in places]",
        ),
        (
            "a place may not look at itself",
            "j = i is allowed: the first place has nothing else to look at.",
            "[0.0 if j <= i else -math.inf for j in places]",
            "[0.0 if j < i or j == i == 0 else -math.inf for j in places]",
        ),
        (
            "the mask is 0 and 1",
            "The mask is added to scores: 0 changes nothing, minus infinity takes away all weight.",
            "[0.0 if j <= i else -math.inf for j in places]",
            "[1.0 if j <= i else 0.0 for j in places]",
        ),
        (
            "scores are not scaled",
            "Divide the scores by the square root of the width of a query.",
            "scores = query @ key.permute(0, 2, 1) / math.sqrt(width)",
            "scores = query @ key.permute(0, 2, 1)",
        ),
        (
            "scores are divided by the width",
            "By its square root, not by the width itself.",
            "key.permute(0, 2, 1) / math.sqrt(width)",
            "key.permute(0, 2, 1) / width",
        ),
        (
            "query and key exchanged",
            "Row i of the scores belongs to query i: query @ key transposed, not the other way round.",
            "scores = query @ key.permute(0, 2, 1) / math.sqrt(width)",
            "scores = key @ query.permute(0, 2, 1) / math.sqrt(width)",
        ),
        (
            "softmax over the places that look",
            "The weights of one row add up to 1: softmax over the last dimension.",
            "weights = softmax(scores + causal_mask(length, query.backend), 2)",
            "weights = softmax(scores + causal_mask(length, query.backend), 1)",
        ),
        (
            "the mask is not added",
            "Each place looks at what comes later. Add the mask before the softmax.",
            "weights = softmax(scores + causal_mask(length, query.backend), 2)",
            "weights = softmax(scores, 2)",
        ),
        (
            "masked after the softmax",
            "After the softmax it is too late: the weights of a row no longer add up to 1.",
            "weights = softmax(scores + causal_mask(length, query.backend), 2)",
            "weights = softmax(scores, 2) * causal_mask(length, query.backend).exp()",
        ),
        (
            "heads are split by view alone",
            "The rows of a head are mixed up: between the two views, permute brings heads before places.",
            "cut = x.contiguous().view(batch, length, heads, width // heads).permute(0, 2, 1, 3)\n"
            "    return cut.contiguous()",
            "cut = x\n    return cut.contiguous()",
        ),
        (
            "a head takes every H-th column",
            "A head has neighbouring columns: view(B, T, H, C / H), in this order.",
            "view(batch, length, heads, width // heads).permute(0, 2, 1, 3)",
            "view(batch, length, width // heads, heads).permute(0, 3, 1, 2)",
        ),
        (
            "heads are joined by view alone",
            "Cut, permute, join: without the permute, heads and places are mixed up.",
            "cut = x.contiguous().view(rows // heads, heads, length, width).permute(0, 2, 1, 3)\n",
            "cut = x\n",
        ),
        (
            "key and value exchanged",
            "attention takes query, key and value, in this order.",
            "attention(query, key, value), self.heads",
            "attention(query, value, key), self.heads",
        ),
        (
            "merge is left out",
            "The joined heads go through the layer merge.",
            "return self.merge(join_heads(attention(query, key, value), self.heads))",
            "return join_heads(attention(query, key, value), self.heads)",
        ),
    ),
    *in_file(
        "task5_4",
        "transformer.py",
        (
            "a block without residuals",
            "Each part adds to x: x + attention(...), then x + narrow(...).",
            "        x = x + self.attention(self.norm1(x))\n",
            "        x = self.attention(self.norm1(x))\n",
        ),
        (
            "the second part sees the old x",
            "The second part works on the sum of x and attention.",
            "        x = x + self.attention(self.norm1(x))\n"
            "        return x + self.narrow(gelu(self.widen(self.norm2(x))))\n",
            "        return (\n"
            "            x\n"
            "            + self.attention(self.norm1(x))\n"
            "            + self.narrow(gelu(self.widen(self.norm2(x))))\n"
            "        )\n",
        ),
        (
            "normalized after the addition",
            "Normalize what goes into a part, not the sum: the x of the residual passes untouched.",
            "        x = x + self.attention(self.norm1(x))\n",
            "        x = self.norm1(x + self.attention(x))\n",
        ),
        (
            "no GELU between the layers",
            "Without gelu between them, widen and narrow are one linear layer.",
            "self.narrow(gelu(self.widen(self.norm2(x))))",
            "self.narrow(self.widen(self.norm2(x)))",
        ),
        (
            "the last norm is left out",
            "After the blocks comes norm, then head.",
            "return self.head(self.norm(self.blocks(self.embedding(ids))))",
            "return self.head(self.blocks(self.embedding(ids)))",
        ),
        (
            "the loss is a sum",
            "A mean over all places: divide by B * T.",
            "return -right.sum() / (batch * length)",
            "return -right.sum()",
        ),
        (
            "the loss is a mean over rows",
            "Divide by the number of places, B * T, not by the number of rows.",
            "return -right.sum() / (batch * length)",
            "return -right.sum() / batch",
        ),
        (
            "the loss without the minus",
            "Logarithms of probabilities are negative; the loss is minus their mean.",
            "return -right.sum() / (batch * length)",
            "return right.sum() / (batch * length)",
        ),
        (
            "softmax in place of logsoftmax",
            "The loss takes logarithms of probabilities: logsoftmax.",
            "right = logsoftmax(scores, 2)",
            "right = softmax(scores, 2)",
        ),
        (
            "multiplied by the temperature",
            "Divide by the temperature: a low one makes differences larger.",
            "softmax(tensor(list(scores)) / temperature, 0)",
            "softmax(tensor(list(scores)) * temperature, 0)",
        ),
        (
            "temperature after the softmax",
            "Divide the scores before the softmax; probabilities that are divided no longer add up to 1.",
            "softmax(tensor(list(scores)) / temperature, 0).to_numpy()",
            "softmax(tensor(list(scores)), 0).to_numpy() / temperature",
        ),
        (
            "always the likeliest",
            "Draw by chance: the likeliest character at every place makes a text that repeats itself.",
            "    total = 0.0\n    for number",
            "    return int(probabilities.argmax())\n    total = 0.0\n    for number",
        ),
        (
            "probabilities are not added up",
            "Compare chance with the sum of the probabilities so far.",
            "        total += probability\n",
            "        total = probability\n",
        ),
        (
            "the first place is asked",
            "The scores of the next character are those at the last place.",
            "last = scores.to_numpy()[0, -1]",
            "last = scores.to_numpy()[0, 0]",
        ),
        (
            "the first ids are shown",
            "The model sees the last `length` ids: text[-length:].",
            "self.forward([text[-self.length :]])",
            "self.forward([text[: self.length]])",
        ),
        (
            "the given list is changed",
            "Copy the ids first: text = list(ids).",
            "        text = list(ids)\n",
            "        text: list[int] = ids  # type: ignore\n",
        ),
    ),
    *in_file(
        "task5_5",
        "torch_transformer.py",
        (
            "places are left out on the Torch floor",
            "Add the rows of the places, torch.arange(T).",
            "return self.characters(ids) + self.places(torch.arange(ids.shape[1]))",
            "return self.characters(ids)",
        ),
        (
            "attention is not causal",
            "Without is_causal=True each place looks at what comes later.",
            "F.scaled_dot_product_attention(*parts, is_causal=True)",
            "F.scaled_dot_product_attention(*parts)",
        ),
        (
            "heads are cut by view alone",
            "view(B, T, H, C / H) first, then transpose(1, 2).",
            "layer(x).view(batch, length, self.heads, width // self.heads).transpose(1, 2)",
            "layer(x).view(batch, self.heads, length, width // self.heads)",
        ),
        (
            "heads are put together by view alone",
            "Undo the transpose before you reshape.",
            "y.transpose(1, 2).reshape(batch, length, width)",
            "y.reshape(batch, length, width)",
        ),
        (
            "scaled twice",
            "scaled_dot_product_attention divides by the square root already.",
            "y = F.scaled_dot_product_attention(*parts, is_causal=True)",
            "parts[0] = parts[0] / (width // self.heads) ** 0.5\n"
            "        y = F.scaled_dot_product_attention(*parts, is_causal=True)",
        ),
        (
            "another GELU",
            'Torch\'s gelu computes another formula unless you pass approximate="tanh".',
            'F.gelu(self.widen(self.norm2(x)), approximate="tanh")',
            "F.gelu(self.widen(self.norm2(x)))",
        ),
        (
            "weights are not transposed",
            "The weight of a Linear is (in, out) on the ground floor, (out, in) in Torch. A square one "
            "fits either way, and is wrong.",
            "                values = values.T\n",
            "                values = values.reshape(values.T.shape)\n",
        ),
        (
            "tables are transposed, too",
            "Only the weights of Linear are transposed; the rows of an embedding stay rows.",
            'if isinstance(modules[layer], nn.Linear) and kind == "weight":',
            'if values.dim() == 2 and (values.shape[0] == values.shape[1] or kind == "weight"):',
        ),
        (
            "old gradients are kept",
            "Forget the gradients of the step before: optimizer.zero_grad().",
            "    optimizer.zero_grad()\n",
            "",
        ),
        (
            "the gradient is not cut",
            "nn.utils.clip_grad_norm_(model.parameters(), 1.0) between backward and step.",
            "    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n",
            "",
        ),
        (
            "softmax before cross_entropy",
            "cross_entropy takes scores, and computes the logarithm of the softmax itself.",
            "F.cross_entropy(model.forward(ids).flatten(0, 1), targets.flatten())",
            "F.cross_entropy(model.forward(ids).flatten(0, 1).softmax(1), targets.flatten())",
        ),
        (
            "the optimizer does not step",
            "After backward, optimizer.step() changes the parameters, by gradients that were not cleared since.",
            "    optimizer.step()\n",
            "",
        ),
        (
            "the temperature is left out",
            "Divide the scores by the temperature before the softmax.",
            "(scores / temperature).softmax(0)",
            "scores.softmax(0)",
        ),
        (
            "it sees more than it can",
            "The model has `length` places: ids[-length:].",
            "self.forward(ids[-self.length :][None])",
            "self.forward(ids[None])",
        ),
    ),
    *in_answer(
        "task5_5",
        "torch_transformer.py",
        "TextEmbedding.forward",
        (
            "places count from 1",
            "Places begin with 0: torch.arange(T).",
            "torch.arange(T)",
            "torch.arange(1, T + 1)",
        ),
    ),
]
