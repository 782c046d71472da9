/** Why the disk or SQLite refused, in words for an operator. */
export function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'EROFS' || code.startsWith('SQLITE_READONLY')) return 'the file system is read-only';
  if (code === 'ENOTDIR' || code === 'EEXIST') return 'a part of this path is a file, not a folder';
  if (code === 'ENOSPC' || code === 'SQLITE_FULL') return 'the disk is full';
  if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) return 'the file is damaged or not a database';
  if (code.startsWith('SQLITE_BUSY')) return 'another process keeps it locked';
  return error instanceof Error ? error.message : String(error);
}
