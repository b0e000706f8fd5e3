"""Well-known models, with torchvision's names of parameters."""

from .alexnet import AlexNet as AlexNet
from .alexnet import alexnet as alexnet
from .lenet import LeNet as LeNet
from .lenet import lenet as lenet
from .mobilenetv2 import MobileNetV2 as MobileNetV2
from .mobilenetv2 import mobilenet_v2 as mobilenet_v2
from .registry import get_model as get_model
from .registry import get_model_builder as get_model_builder
from .registry import list_models as list_models
from .resnet import ResNet as ResNet
from .resnet import resnet18 as resnet18
from .resnet import resnet34 as resnet34
from .resnet import resnet50 as resnet50
from .resnet import resnet101 as resnet101
from .resnet import resnet152 as resnet152
from .resnet import resnext50_32x4d as resnext50_32x4d
from .resnet import wide_resnet50_2 as wide_resnet50_2
from .vgg import VGG as VGG
from .vgg import vgg11 as vgg11
from .vgg import vgg11_bn as vgg11_bn
from .vgg import vgg13 as vgg13
from .vgg import vgg13_bn as vgg13_bn
from .vgg import vgg16 as vgg16
from .vgg import vgg16_bn as vgg16_bn
from .vgg import vgg19 as vgg19
from .vgg import vgg19_bn as vgg19_bn
from .vision_transformer import VisionTransformer as VisionTransformer
from .vision_transformer import vit_b_16 as vit_b_16
from .vision_transformer import vit_b_32 as vit_b_32
from .vision_transformer import vit_l_16 as vit_l_16
from .weights import WEIGHTS as _WEIGHTS
from .weights import WeightsEnum as WeightsEnum
from .weights import get_model_weights as get_model_weights
from .weights import get_weight as get_weight

globals().update({kind.__name__: kind for kind in _WEIGHTS.values()})
