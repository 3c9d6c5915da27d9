"""The code that runs inside a worker. None of it is public: users import `turnpike` and `turnpike.testing`."""
