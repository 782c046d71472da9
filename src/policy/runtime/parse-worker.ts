import { messageOf } from '../../core/thrown.ts';
import type { PolicyFile } from '../load.ts';
import { parseFiles } from './parse-files.ts';

/** The arguments of `parseFiles`. */
export interface ParseRequest {
  readonly files: readonly PolicyFile[];
  readonly before: string | null;
}

/**
 * Parses policies outside the event loop. Each message to the parse worker gets one answer, in order. `parser.ts` starts the parse worker.
 */
declare const self: {
  onmessage: ((event: { readonly data: ParseRequest }) => void) | null;
  postMessage(answer: unknown): void;
};

self.onmessage = async ({ data: { files, before } }) => {
  try {
    self.postMessage({ parsed: await parseFiles(files, before) });
  } catch (error) {
    self.postMessage({ error: messageOf(error) });
  }
};
