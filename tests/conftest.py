"""What all tests begin with."""

import signal

# A shell that starts the tests in the background has them ignore SIGINT, and so would every process that a test starts and ends by it.
signal.signal(signal.SIGINT, signal.default_int_handler)
