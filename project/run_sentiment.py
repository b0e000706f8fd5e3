"""Task 4.5: train the guide's convolutional network on the sentences of SST-2.

python project/run_sentiment.py
python project/run_sentiment.py --PTS 450 --EPOCHS 5
"""

import sys

from which_library import say_which

from minitorch.training.sentences import CNNSentimentKim as CNNSentimentKim
from minitorch.training.sentences import Conv1d as Conv1d
from minitorch.training.sentences import Linear as Linear
from minitorch.training.sentences import SentenceSentimentTrain as SentenceSentimentTrain
from minitorch.training.sentences import default_log_fn as default_log_fn
from minitorch.training.sentences import encode_sentences as encode_sentences
from minitorch.training.sentences import encode_sentiment_data as encode_sentiment_data
from minitorch.training.sentences import get_accuracy as get_accuracy
from minitorch.training.sentences import get_predictions_array as get_predictions_array
from minitorch.training.sentences import load_sentiment_data as load_sentiment_data
from minitorch.training.sentences import main as main

if __name__ == "__main__":
    say_which()
    sys.exit(main())
