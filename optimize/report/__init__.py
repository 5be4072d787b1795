"""What people read: terminal, page and workbook, from the same tables."""
