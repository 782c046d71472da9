import { readSecretFile } from '../secret-file.ts';
import { SourceError } from './source.ts';

/** Reads a file with a token or key, which another program may replace at any time. @param named what names the file @throws SourceError */
export function readTokenFile(path: string, named: string): string {
  const found = readSecretFile(path);
  if ('problem' in found) throw new SourceError(`the file of ${named} cannot be used: ${found.problem}`);
  return found.value.trim();
}
