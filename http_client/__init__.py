"""HTTP for providers and tools: pooled connections, proxies, certificates, bounded responses, errors."""
