"""Messages: records, properties, ids and topics, byte for byte as 4.8.0 writes them. Imports nothing of ours."""
