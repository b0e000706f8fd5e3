"""Torch's `nn.functional`: layers as functions.

Each function is defined beside its record, in `ops`.
"""

from __future__ import annotations

from ..ops.arguments import checked_functions as _checked_functions
from ..ops.surface import FUNCTIONS as _FUNCTIONS
from ..tensor import Tensor as _Tensor

# Activations
from ..ops.activation import celu as celu  # isort: skip
from ..ops.activation import celu_ as celu_  # isort: skip
from ..ops.activation import elu as elu  # isort: skip
from ..ops.activation import elu_ as elu_  # isort: skip
from ..ops.activation import gelu as gelu  # isort: skip
from ..ops.activation import glu as glu  # isort: skip
from ..ops.activation import gumbel_softmax as gumbel_softmax  # isort: skip
from ..ops.activation import hardshrink as hardshrink  # isort: skip
from ..ops.activation import hardsigmoid as hardsigmoid  # isort: skip
from ..ops.activation import hardswish as hardswish  # isort: skip
from ..ops.activation import hardtanh as hardtanh  # isort: skip
from ..ops.activation import hardtanh_ as hardtanh_  # isort: skip
from ..ops.activation import leaky_relu as leaky_relu  # isort: skip
from ..ops.activation import leaky_relu_ as leaky_relu_  # isort: skip
from ..ops.activation import logsigmoid as logsigmoid  # isort: skip
from ..ops.activation import mish as mish  # isort: skip
from ..ops.activation import prelu as prelu  # isort: skip
from ..ops.activation import relu as relu  # isort: skip
from ..ops.activation import relu6 as relu6  # isort: skip
from ..ops.activation import relu_ as relu_  # isort: skip
from ..ops.activation import rrelu as rrelu  # isort: skip
from ..ops.activation import rrelu_ as rrelu_  # isort: skip
from ..ops.activation import selu as selu  # isort: skip
from ..ops.activation import selu_ as selu_  # isort: skip
from ..ops.activation import silu as silu  # isort: skip
from ..ops.activation import softplus as softplus  # isort: skip
from ..ops.activation import softshrink as softshrink  # isort: skip
from ..ops.activation import softsign as softsign  # isort: skip
from ..ops.activation import tanhshrink as tanhshrink  # isort: skip
from ..ops.activation import threshold as threshold  # isort: skip
from ..ops.activation import threshold_ as threshold_  # isort: skip

# Softmax
from ..ops.softmax import log_softmax as log_softmax  # isort: skip
from ..ops.softmax import softmax as softmax  # isort: skip
from ..ops.softmax import softmin as softmin  # isort: skip

# Linear layers
from ..ops.linear import bilinear as bilinear  # isort: skip
from ..ops.linear import linear as linear  # isort: skip

# Convolutions
from ..ops.convolution import conv1d as conv1d  # isort: skip
from ..ops.convolution import conv2d as conv2d  # isort: skip
from ..ops.convolution import conv3d as conv3d  # isort: skip
from ..ops.convolution import conv_tbc as conv_tbc  # isort: skip
from ..ops.convolution import conv_transpose1d as conv_transpose1d  # isort: skip
from ..ops.convolution import conv_transpose2d as conv_transpose2d  # isort: skip
from ..ops.convolution import conv_transpose3d as conv_transpose3d  # isort: skip

# Pooling
from ..ops.pooling import adaptive_avg_pool1d as adaptive_avg_pool1d  # isort: skip
from ..ops.pooling import adaptive_avg_pool2d as adaptive_avg_pool2d  # isort: skip
from ..ops.pooling import adaptive_avg_pool3d as adaptive_avg_pool3d  # isort: skip
from ..ops.pooling import adaptive_max_pool1d as adaptive_max_pool1d  # isort: skip
from ..ops.pooling import adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices  # isort: skip
from ..ops.pooling import adaptive_max_pool2d as adaptive_max_pool2d  # isort: skip
from ..ops.pooling import adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices  # isort: skip
from ..ops.pooling import adaptive_max_pool3d as adaptive_max_pool3d  # isort: skip
from ..ops.pooling import adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices  # isort: skip
from ..ops.pooling import avg_pool1d as avg_pool1d  # isort: skip
from ..ops.pooling import avg_pool2d as avg_pool2d  # isort: skip
from ..ops.pooling import avg_pool3d as avg_pool3d  # isort: skip
from ..ops.pooling import fractional_max_pool2d as fractional_max_pool2d  # isort: skip
from ..ops.pooling import fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices  # isort: skip
from ..ops.pooling import fractional_max_pool3d as fractional_max_pool3d  # isort: skip
from ..ops.pooling import fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices  # isort: skip
from ..ops.pooling import lp_pool1d as lp_pool1d  # isort: skip
from ..ops.pooling import lp_pool2d as lp_pool2d  # isort: skip
from ..ops.pooling import lp_pool3d as lp_pool3d  # isort: skip
from ..ops.pooling import max_pool1d as max_pool1d  # isort: skip
from ..ops.pooling import max_pool1d_with_indices as max_pool1d_with_indices  # isort: skip
from ..ops.pooling import max_pool2d as max_pool2d  # isort: skip
from ..ops.pooling import max_pool2d_with_indices as max_pool2d_with_indices  # isort: skip
from ..ops.pooling import max_pool3d as max_pool3d  # isort: skip
from ..ops.pooling import max_pool3d_with_indices as max_pool3d_with_indices  # isort: skip
from ..ops.pooling import max_unpool1d as max_unpool1d  # isort: skip
from ..ops.pooling import max_unpool2d as max_unpool2d  # isort: skip
from ..ops.pooling import max_unpool3d as max_unpool3d  # isort: skip

# Normalization
from ..ops.normalization import batch_norm as batch_norm  # isort: skip
from ..ops.normalization import group_norm as group_norm  # isort: skip
from ..ops.normalization import instance_norm as instance_norm  # isort: skip
from ..ops.normalization import layer_norm as layer_norm  # isort: skip
from ..ops.normalization import local_response_norm as local_response_norm  # isort: skip
from ..ops.normalization import rms_norm as rms_norm  # isort: skip

# Dropout
from ..ops.dropout import alpha_dropout as alpha_dropout  # isort: skip
from ..ops.dropout import dropout as dropout  # isort: skip
from ..ops.dropout import dropout1d as dropout1d  # isort: skip
from ..ops.dropout import dropout2d as dropout2d  # isort: skip
from ..ops.dropout import dropout3d as dropout3d  # isort: skip
from ..ops.dropout import feature_alpha_dropout as feature_alpha_dropout  # isort: skip

# Embeddings
from ..ops.embedding import embedding as embedding  # isort: skip
from ..ops.embedding import embedding_bag as embedding_bag  # isort: skip
from ..ops.embedding import one_hot as one_hot  # isort: skip

# Attention
from ..ops.attention import multi_head_attention_forward as multi_head_attention_forward  # isort: skip
from ..ops.attention import scaled_dot_product_attention as scaled_dot_product_attention  # isort: skip

# Distances
from ..ops.distance import cosine_similarity as cosine_similarity  # isort: skip
from ..ops.distance import normalize as normalize  # isort: skip
from ..ops.distance import pairwise_distance as pairwise_distance  # isort: skip
from ..ops.statistics import pdist as pdist  # isort: skip

# Losses
from ..ops.densities import binary_cross_entropy as binary_cross_entropy  # isort: skip
from ..ops.densities import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits  # isort: skip
from ..ops.loss import cosine_embedding_loss as cosine_embedding_loss  # isort: skip
from ..ops.likelihood import cross_entropy as cross_entropy  # isort: skip
from ..ops.densities import gaussian_nll_loss as gaussian_nll_loss  # isort: skip
from ..ops.loss import hinge_embedding_loss as hinge_embedding_loss  # isort: skip
from ..ops.loss import huber_loss as huber_loss  # isort: skip
from ..ops.densities import kl_div as kl_div  # isort: skip
from ..ops.loss import l1_loss as l1_loss  # isort: skip
from ..ops.likelihood import linear_cross_entropy as linear_cross_entropy  # isort: skip
from ..ops.loss import margin_ranking_loss as margin_ranking_loss  # isort: skip
from ..ops.loss import mse_loss as mse_loss  # isort: skip
from ..ops.loss import multi_margin_loss as multi_margin_loss  # isort: skip
from ..ops.loss import multilabel_margin_loss as multilabel_margin_loss  # isort: skip
from ..ops.loss import multilabel_soft_margin_loss as multilabel_soft_margin_loss  # isort: skip
from ..ops.likelihood import nll_loss as nll_loss  # isort: skip
from ..ops.densities import poisson_nll_loss as poisson_nll_loss  # isort: skip
from ..ops.loss import smooth_l1_loss as smooth_l1_loss  # isort: skip
from ..ops.loss import soft_margin_loss as soft_margin_loss  # isort: skip
from ..ops.loss import triplet_margin_loss as triplet_margin_loss  # isort: skip
from ..ops.loss import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss  # isort: skip

# Losses of sequences
from ..ops.ctc import ctc_loss as ctc_loss  # isort: skip

# Images
from ..ops.interpolation import interpolate as interpolate  # isort: skip
from ..ops.interpolation import upsample as upsample  # isort: skip
from ..ops.interpolation import upsample_bilinear as upsample_bilinear  # isort: skip
from ..ops.interpolation import upsample_nearest as upsample_nearest  # isort: skip
from ..ops.vision import affine_grid as affine_grid  # isort: skip
from ..ops.vision import channel_shuffle as channel_shuffle  # isort: skip
from ..ops.vision import fold as fold  # isort: skip
from ..ops.vision import grid_sample as grid_sample  # isort: skip
from ..ops.vision import pixel_shuffle as pixel_shuffle  # isort: skip
from ..ops.vision import pixel_unshuffle as pixel_unshuffle  # isort: skip
from ..ops.vision import unfold as unfold  # isort: skip

# Padding
from ..ops.padding import pad as pad  # isort: skip


def sigmoid(input: _Tensor) -> _Tensor:
    """1 / (1 + exp(-x))."""
    return _FUNCTIONS["sigmoid"](input)


def tanh(input: _Tensor) -> _Tensor:
    """The hyperbolic tangent."""
    return _FUNCTIONS["tanh"](input)


native_channel_shuffle = channel_shuffle
globals().update(_checked_functions("nn.functional", globals()))
