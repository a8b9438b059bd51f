"""A thread that uses a server until it is gone, or until it is told to end."""
import http.client
import random
import threading

from durable import Connection

GONE = (OSError, http.client.HTTPException)


class Client(threading.Thread):
    """Acts at random, but each time the same, until the server is gone or `over` is set."""

    def __init__(self, number, seed):
        super().__init__(daemon=True)
        self.number = number
        self.random = random.Random("%s %s" % (seed, number))
        self.connection = None
        self.over = None
        self.error = None

    def begin(self, port, over):
        self.connection = Connection(port)
        self.over = over
        self.start()

    def call(self, action, **members):
        return self.connection.call(action, members)

    def run(self):
        try:
            while not self.over.is_set():
                self.act()
        except GONE:
            pass
        except Exception as error:  # shown by the test, whose thread is another
            self.error = error
        finally:
            self.connection.close()

    def act(self):
        raise NotImplementedError
