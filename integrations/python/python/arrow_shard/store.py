"""Object stores: S3, Azure, Google Cloud Storage, HTTP, local folders and memory, and ``from_url``, which makes the one
that a URL is of.

They are the stores of ``obstore``, whose pages describe their settings:
https://developmentseed.org/obstore/latest/api/store/. Stores of ``obstore`` itself are taken as well.

>>> memory = sh.store.MemoryStore()
>>> sh.write(pa.table({"id": [1, 2]}), "tables/t.amudai.shard", store=memory).rows
2
>>> sh.open("tables/t.amudai.shard", store=memory).num_rows
2
"""

from __future__ import annotations

from ._lib import _store

AzureStore = _store.AzureStore
GCSStore = _store.GCSStore
HTTPStore = _store.HTTPStore
LocalStore = _store.LocalStore
MemoryStore = _store.MemoryStore
S3Store = _store.S3Store
from_url = _store.from_url

for _named in (AzureStore, GCSStore, HTTPStore, LocalStore, MemoryStore, S3Store, from_url):
    _named.__module__ = __name__

__all__ = ["AzureStore", "GCSStore", "HTTPStore", "LocalStore", "MemoryStore", "S3Store", "from_url"]
