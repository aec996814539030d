"""The life of a running application: its states, what happens when it fails, and what goes on beside the batches.

Nothing here knows which engine runs the batches; ``headrace.streams`` brings the two together.
"""
