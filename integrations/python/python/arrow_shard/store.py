"""Object stores: S3, Azure, Google Cloud Storage, HTTP, local folders and memory. ``from_url`` creates the store for a
URL.

These are the stores of ``obstore``. Its documentation describes their settings:
https://developmentseed.org/obstore/latest/api/store/. Stores created with ``obstore`` itself are accepted as well.

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
