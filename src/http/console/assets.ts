import { join } from 'node:path';
import { SignalboxError } from '../../core/errors.ts';
import type { BuiltConsole } from './built.ts';
import { PAGE_HEADERS } from './pages.ts';

/**
 * Returns a file of the built console that its manifest lists.
 * @throws SignalboxError `not_found`
 */
export async function assetOf(built: BuiltConsole | null, name: string, headers: Headers): Promise<Response> {
  const asset = built?.assets.find((one) => one.name === name);
  const isPacked = asset?.gzip === true && takesGzip(headers.get('accept-encoding') ?? '');
  const file = built && asset && Bun.file(join(built.folder, isPacked ? `${name}.gz` : name));
  // The console may be rebuilt at this moment.
  if (!file || !(await file.exists())) {
    throw new SignalboxError('not_found', 'The console has no such file. Reload the page.');
  }
  return new Response(file, {
    headers: {
      ...PAGE_HEADERS,
      'content-type': asset.type,
      'cache-control': 'public, max-age=31536000, immutable',
      ...(asset.gzip && { vary: 'accept-encoding' }),
      ...(isPacked && { 'content-encoding': 'gzip' }),
    },
  });
}

/** Whether the header `accept-encoding` allows gzip. */
const takesGzip = (accepted: string): boolean =>
  /(?:^|,)\s*gzip\s*(?:,|$|;\s*q=(?!0(?:\.0*)?\s*(?:,|$)))/i.test(accepted);
