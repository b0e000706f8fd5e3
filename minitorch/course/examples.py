"""The first hint for each function: a case worked out, or a question to ask oneself.

Under a line `== task`, a line per function: its name, and an expression that is true of the right
library, or after a `?` a question.
"""

from __future__ import annotations

import re
from functools import cache

_LINES = """
== 0.1
mul             mul(2.0, -3.0) == -6.0
id              id(-0.5) == -0.5
add             add(0.5, -2.0) == -1.5
neg             neg(-3.0) == 3.0
lt              lt(2.0, 3.0) == 1.0 and lt(2.0, 2.0) == 0.0
eq              eq(2.0, 2.0) == 1.0 and eq(2.0, 2.001) == 0.0
max             max(-2.0, -5.0) == -2.0
is_close        is_close(1.0, 1.009) == 1.0 and is_close(1.0, 50.0) == 0.0
sigmoid         sigmoid(0.0) == 0.5 and sigmoid(-1000.0) == 0.0 and sigmoid(1000.0) == 1.0
relu            relu(-3.0) == 0.0 and relu(3.0) == 3.0
log             log(1.0 - EPS) == 0.0
exp             exp(0.0) == 1.0
inv             inv(4.0) == 0.25
log_back        log_back(2.0 - EPS, 10.0) == 5.0
inv_back        inv_back(2.0, 10.0) == -2.5
relu_back       relu_back(3.0, 10.0) == 10.0 and relu_back(-3.0, 10.0) == 0.0
== 0.2
arithmetic_properties   ? add and a wrong add that gives x + 2 y agree wherever y is 0. Which equation do both sides of only the right one fulfil?
comparison_properties   ? max and min are both symmetric. What holds of one of them only?
sigmoid_properties      ? 1 / (1 + e^x), without the minus, also lies between 0 and 1. Where does it give itself away?
relu_properties         ? relu and abs agree for positive numbers. Which numbers tell them apart?
== 0.3
map             list(map(inv)([2.0, 4.0])) == [0.5, 0.25]
zipWith         list(zipWith(lt)([1.0, 5.0], [2.0, 3.0])) == [1.0, 0.0]
reduce          reduce(mul, 10.0)([2.0, 3.0]) == 60.0
negList         list(negList([1.0, -2.0])) == [-1.0, 2.0]
addLists        list(addLists([1.0, 2.0], [10.0, 20.0])) == [11.0, 22.0]
sum             sum([]) == 0.0 and sum([1.0, 2.0, 3.0]) == 6.0
prod            prod([]) == 1.0 and prod([2.0, 3.0, 4.0]) == 24.0
== 0.4
Module.train    ? a holds b, and b holds c. Which of the three must a.train() change, and who can reach c?
Module.eval     ? a holds b, and b holds c. After a.eval(), which of the three may still be training?
Module.named_parameters   ? a holds b, and b holds the parameter p. What does b call it, and what does a?
Module.parameters         ? Which method of the same class has already found all of them?
== 0.5
Linear.forward      ? With w1 = 2, w2 = 3 and bias = -1, the point (1, 1) gives 4. Which of the parameters does (0, 0) show?
Network.forward     ? On the line itself linear gives 0. Which probability is that?
simple_line         ? The point (0.5, 0.3) lies on the border. Which equation of w1, w2 and bias is that?
diag_line           ? (0, 0.5) and (0.5, 0) lie on the border. What follows for w1 and w2?
== 1.1
central_difference   abs(central_difference(lambda x, y: x * y, 3.0, 5.0, arg=1) - 3.0) < 1e-6
== 1.2
Mul.forward     Mul.apply(Scalar(2.0), Scalar(3.0)).data == 6.0
Inv.forward     Inv.apply(Scalar(4.0)).data == 0.25
Neg.forward     Neg.apply(Scalar(4.0)).data == -4.0
Sigmoid.forward Sigmoid.apply(Scalar(0.0)).data == 0.5
ReLU.forward    ReLU.apply(Scalar(-4.0)).data == 0.0
Exp.forward     Exp.apply(Scalar(0.0)).data == 1.0
LT.forward      LT.apply(Scalar(1.0), Scalar(2.0)).data == 1.0
EQ.forward      EQ.apply(Scalar(1.0), Scalar(2.0)).data == 0.0
Scalar.__add__  (Scalar(1.0) + 2.0).history.last_fn is Add
Scalar.__sub__  (Scalar(5.0) - 2.0).data == 3.0 and (Scalar(5.0) - Scalar(2.0)).data == 3.0
Scalar.__neg__  (-Scalar(1.0)).history.last_fn is Neg
Scalar.__lt__   (Scalar(1.0) < 2.0).data == 1.0
Scalar.__gt__   (Scalar(1.0) > 2.0).data == 0.0
Scalar.__eq__   (Scalar(1.0) == 1.0).data == 1.0
Scalar.log      Scalar(1.0).log().history.last_fn is Log
Scalar.exp      Scalar(1.0).exp().history.last_fn is Exp
Scalar.sigmoid  Scalar(0.0).sigmoid().data == 0.5
Scalar.relu     Scalar(-1.0).relu().data == 0.0
== 1.3
Scalar.chain_rule   [d for _, d in (Scalar(3.0) * Scalar(5.0)).chain_rule(10.0)] == [50.0, 30.0]
== 1.4
topological_sort    ? h = z + z * x. In which of the two orders h, z, z * x and h, z * x, z is z complete when its turn comes?
backpropagate       ? z is used twice, and both uses send it a derivative. When may z pass on what it has?
Mul.backward        Mul.backward(saved(2.0, 3.0), 10.0) == (30.0, 20.0)
Inv.backward        Inv.backward(saved(2.0), 10.0) == -2.5
Neg.backward        Neg.backward(saved(), 10.0) == -10.0
Sigmoid.backward    ? The slope of sigmoid at 0 is 0.25. What is 0.25 in terms of sigmoid(0) = 0.5?
ReLU.backward       ReLU.backward(saved(-2.0), 10.0) == 0.0
Exp.backward        ? The slope of exp is exp. What has forward computed already?
LT.backward         LT.backward(saved(), 10.0) == (0.0, 0.0)
EQ.backward         EQ.backward(saved(), 10.0) == (0.0, 0.0)
== 1.5
Linear.forward      ? Two inputs and three outputs: how many weights are there, and which of them lead to output 0?
Network.hidden      ? What would two layers without ReLU between them be, and what can a line not do?
Network.forward     ? A probability lies between 0 and 1. What does the last layer give, and what brings it there?
== 2.1
index_to_position   index_to_position(array([1, 2]), array([3, 1])) == 5
to_index            ? Shape (2, 3): numbers 0, 1, 2, 3 are the indices (0, 0), (0, 1), (0, 2), (1, 0). What is number 4?
TensorData.permute  TensorData([0.0] * 6, (2, 3)).permute(1, 0).strides == (1, 3)
== 2.2
broadcast_index     ? Where (3,) is broadcast to (2, 3), which element does index (1, 2) read? And where (2, 1) is?
shape_broadcast     shape_broadcast((2, 3), (3,)) == (2, 3) and shape_broadcast((0,), (1,)) == (0,)
== 2.3
tensor_map._map         ? out is (2, 3) and in is (3,). Which element of in goes to index (1, 2) of out?
tensor_zip._zip         ? a is (2, 1) and b is (3,). Which two numbers meet at index (1, 2) of out?
tensor_reduce._reduce   ? a is (2, 3), reduce_dim is 1. Which three indices of a go to index (1, 0) of out?
Mul.forward             Mul.apply(tensor([2.0]), tensor([3.0]))[0] == 6.0
Sigmoid.forward         Sigmoid.apply(tensor([0.0]))[0] == 0.5
ReLU.forward            ReLU.apply(tensor([-1.0]))[0] == 0.0
Log.forward             abs(Log.apply(tensor([1.0]))[0]) < 1e-5
Exp.forward             Exp.apply(tensor([0.0]))[0] == 1.0
Sum.forward             Sum.apply(tensor([[1.0, 2.0], [3.0, 4.0]]), 0).shape == (1, 2)
LT.forward              LT.apply(tensor([1.0]), tensor([2.0]))[0] == 1.0
EQ.forward              EQ.apply(tensor([1.0]), tensor([2.0]))[0] == 0.0
IsClose.forward         IsClose.apply(tensor([1.0]), tensor([1.005]))[0] == 1.0
Permute.forward         Permute.apply(tensor([[1.0, 2.0]]), (1, 0)).shape == (2, 1)
Tensor.__add__          (tensor([1.0]) + 2.0).history.last_fn is Add
Tensor.__sub__          (tensor([5.0]) - 2.0)[0] == 3.0
Tensor.__mul__          (tensor([1.0]) * 2.0).history.last_fn is Mul
Tensor.__neg__          (-tensor([1.0])).history.last_fn is Neg
Tensor.__lt__           (tensor([1.0, 3.0]) < 2.0).to_numpy().tolist() == [1.0, 0.0]
Tensor.__gt__           (tensor([1.0, 3.0]) > 2.0).to_numpy().tolist() == [0.0, 1.0]
Tensor.__eq__           (tensor([1.0, 3.0]) == 3.0).to_numpy().tolist() == [0.0, 1.0]
Tensor.is_close         tensor([1.0]).is_close(1.005)[0] == 1.0
Tensor.sigmoid          tensor([0.0]).sigmoid().history.last_fn is Sigmoid
Tensor.relu             tensor([0.0]).relu().history.last_fn is ReLU
Tensor.log              tensor([1.0]).log().history.last_fn is Log
Tensor.exp              tensor([1.0]).exp().history.last_fn is Exp
Tensor.sum              tensor([[1.0, 2.0], [3.0, 4.0]]).sum().shape == (1,)
Tensor.mean             tensor([[1.0, 2.0], [3.0, 6.0]]).mean(1).to_numpy().tolist() == [[1.5], [4.5]]
Tensor.all              tensor([[1.0, 0.0], [1.0, 1.0]]).all(1).to_numpy().tolist() == [[0.0], [1.0]]
Tensor.permute          tensor([[1.0, 2.0]]).permute(1, 0).history.last_fn is Permute
Tensor.view             tensor([[1.0, 2.0]]).view(2).shape == (2,)
== 2.4
Mul.backward        ? d/da of a * b is b. Which of the two saved tensors does the first gradient hold?
Sigmoid.backward    ? The slope of sigmoid at 0 is 0.25. What is 0.25 in terms of sigmoid(0) = 0.5?
ReLU.backward       ? The backend has relu_back_zip. Which of its two arguments decides, and which is passed on?
Log.backward        ? The backend has log_back_zip(x, d). What is x here: the input, or its logarithm?
Exp.backward        ? The slope of exp is exp. What has forward computed already?
Sum.backward        ? Every element of a goes into the sum once. What is the slope for each?
LT.backward         ? Move a a little: does a < b change? And what has the gradient's shape?
EQ.backward         ? Move a a little: does a == b change, nearly everywhere?
IsClose.backward    ? Move a a little: does |a - b| < 0.01 change, nearly everywhere?
Permute.backward    ? permute(2, 0, 1) of a (2, 3, 4) is (4, 2, 3). Which order leads back to (2, 3, 4)?
== 2.5
Linear.forward      ? x is 10 x 2 and the weights are 2 x 5. Which shape has the product, and how does a bias of 5 numbers fit?
Network.hidden      ? How many rows has what the second layer gives, for a batch of 10 points?
Network.forward     ? Which shape has the answer for 10 points?
== 3.1
tensor_map._map         ? Two cores run iterations 0 and 1000 at the same time. What do both write to, if the buffers are made before the loop?
tensor_zip._zip         ? a and b hold 6 numbers each, and b is transposed. Do cells 1 of the two storages belong together?
tensor_reduce._reduce   ? Two cores fold halves of the same row into out[0]. Which of their results is lost?
== 3.2
_matmul_naive       ? One step of k moves how far in a's storage, and how far in b's?
== 3.3
tensor_map._map         ? 10 outputs, blocks of 4 threads: which threads have nothing to do?
tensor_zip._zip         ? 10 outputs, blocks of 4 threads: which threads have nothing to do?
flat_map._flat_map      ? With a_step 0, which element does every thread read?
flat_zip._flat_zip      ? a has one element, b as many as out. Which are the two steps?
_sum_practice           ? 8 numbers in shared memory: who adds what in the first of three rounds?
tensor_reduce._reduce   ? A block of 8 threads folds 5 numbers with max. What must the other 3 bring, so that nothing changes?
== 3.4
_mm_practice    ? Each cell of a is needed by size threads. How often is it read from global memory?
naive.kernel    ? Which row of a, and which column of b, does the thread of cell (i, j) walk along?
tiled.kernel    ? A thread is done with the tiles and loads the next. Who may still be reading the old ones?
== 3.5
FastTrain.__init__  ? TensorTrain does all of it already. Which of its arguments says what computes?
== 4.1
_tensor_conv1d  ? Input 1 2 3 4, window 10 1: the first output is 12, the second 23. What is the last?
== 4.2
_conv2d         ? A 2 x 2 window at the bottom right corner: how many of its cells lie on the image?
== 4.3
tile            tile(tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), (2, 1))[0].to_numpy().tolist() == [[[[[1.0, 3.0], [2.0, 4.0]]]]]
avgpool2d       avgpool2d(tensor([[[[1.0, 3.0], [5.0, 7.0]]]]), (1, 2)).to_numpy().tolist() == [[[[2.0], [6.0]]]]
== 4.4
argmax          argmax(tensor([2.0, 7.0, 7.0]), 0).to_numpy().tolist() == [0.0, 1.0, 0.0]
Max.forward     Max.apply(tensor([2.0, 7.0]), 0)[0] == 7.0
Max.backward    ? max(2, 7, 5) is 7. Which of the three numbers changes it, if it changes a little?
max             nn_max(tensor([[2.0, 7.0]]), 1).shape == (1, 1)
softmax         softmax(tensor([1000.0, 1000.0]), 0).to_numpy().tolist() == [0.5, 0.5]
logsoftmax      abs(logsoftmax(tensor([0.0, 1000.0]), 0)[0] + 1000.0) < 1e-5
maxpool2d       maxpool2d(tensor([[[[1.0, 3.0], [5.0, 7.0]]]]), (1, 2)).to_numpy().tolist() == [[[[3.0], [7.0]]]]
dropout         dropout(tensor([1.0, 2.0]), 0.0).to_numpy().tolist() == [1.0, 2.0]
== 4.4b
_tensor_conv1d  ? Two threads share an output with a window of 5. Which places of the window does each sum?
_tensor_conv2d  ? Two threads share an output with a window of 3 x 5. Which columns of the window does each sum?
== 4.5
Conv1d.forward          ? The bias has the shape 1 x channels x 1. To which numbers of the convolution is each of its numbers added?
Conv2d.forward          ? The bias has the shape channels x 1 x 1. To which numbers of the convolution is each of its numbers added?
Network.forward         ? A picture of 28 x 28 passes two convolutions and pooling by 4. How many numbers are left for the layer?
CNNSentimentKim.forward ? Three widths give three scores for a sentence. What does the layer do whose input are all features side by side?
CNNSentimentKim._score  ? A sentence has 7 words or 30. What makes them one number per feature?
== 5.1
one_hot                 one_hot([1], 3).to_numpy().tolist() == [[0.0, 1.0, 0.0]]
Embedding.forward       ? What is the row 0 0 1 0 times a matrix of four rows?
TextEmbedding.forward   TextEmbedding(3, 4, 2)([[0, 1]]).shape == (1, 2, 2)
== 5.2
LayerNorm.forward       ? The row 1 3 has mean 2 and variance 1. What is it, normalized? And the row 10 30?
gelu                    gelu(tensor([0.0, 100.0])).to_numpy().tolist() == [0.0, 100.0]
== 5.3
causal_mask             causal_mask(2).to_numpy().tolist() == [[0.0, -math.inf], [0.0, 0.0]]
attention               ? Two places with equal keys: which weights do the first and the second place give them?
split_heads             split_heads(tensor([[[1.0, 2.0, 3.0, 4.0]]]), 2).to_numpy().tolist() == [[[1.0, 2.0]], [[3.0, 4.0]]]
join_heads              join_heads(tensor([[[1.0, 2.0]], [[3.0, 4.0]]]), 2).to_numpy().tolist() == [[[1.0, 2.0, 3.0, 4.0]]]
CausalSelfAttention.forward   ? Of what x are queries, keys and values made? Why is it called self-attention?
== 5.4
Block.forward           ? If attention and the small network give 0, what does the block give?
GPT.forward             GPT(7, 4, 8, 2, 1)([[1, 2, 3]]).shape == (1, 3, 7)
GPT.generate            len(GPT(3, 4, 8, 2, 1).generate([1], 2)) == 3
cross_entropy           abs(cross_entropy(zeros((1, 2, 8)), [[3, 5]]).item() - math.log(8)) < 1e-5
pick                    pick([0.0, 0.0], 1.0, 0.7) == 1
== 5.5
TextEmbedding.forward   ? On the ground floor ids were a list of lists. What are they here, and what does nn.Embedding take?
CausalSelfAttention.forward   ? scaled_dot_product_attention takes (B, H, T, C / H). What shape has layer(x), and which steps lead there?
Block.forward           ? Which of the two GELUs of Torch is the one of task 5.2?
GPT.forward             ? What has changed against the ground floor?
GPT.generate            ? scores is (1, T, V). Which T is the next character's?
carry_over              ? A matrix of 4 x 4 fits either way. How do you know whether to transpose it?
train_step              ? What happens to the gradients of the last step, if nobody forgets them?
"""


@cache
def examples() -> dict[tuple[str, str], str]:
    """The first hint for each function, by task and name."""
    found: dict[tuple[str, str], str] = {}
    task = ""
    for line in _LINES.strip().splitlines():
        if line.startswith("== "):
            task = line.removeprefix("== ")
        else:
            name, text = re.split(r"\s+", line, maxsplit=1)
            found[task, name] = text
    return found


def first_hint(task: str, name: str) -> str:
    """The first hint for a function, as a sentence."""
    text = examples()[task, name]
    return text.removeprefix("? ") if text.startswith("? ") else f"For example: {text}"
