"""What all tests begin with."""

import os
import signal

# TensorFlow turns it off on CPUs without AVX-512, where channels-first convolutions then fail.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

# A shell that starts the tests in the background has them ignore SIGINT, and so would every process that a test starts and ends by it.
signal.signal(signal.SIGINT, signal.default_int_handler)
