import { codeOf, messageOf } from '../core/thrown.ts';

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of this path is a file, not a folder',
  EEXIST: 'a part of this path is a file, not a folder',
  ENOENT: 'there is no such file or folder',
  EISDIR: 'it is a folder, not a file',
  EIO: 'the disk reports an error',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
};

/** Returns why the file system refused an operation, in words for an operator. */
export const reasonOf = (error: unknown): string => REASONS[codeOf(error)] ?? messageOf(error);
