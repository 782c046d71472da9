import type { PolicyFile } from '../policy/load.ts';
import { parseFiles } from './parse-files.ts';

/** What is asked of the worker: see `parseFiles`. */
export interface ParseRequest {
  readonly files: readonly PolicyFile[];
  readonly before: string | null;
}

/** Parses policies beside the event loop. One message in, one out, in order; see `parser.ts`. */
declare const self: {
  onmessage: ((event: { readonly data: ParseRequest }) => void) | null;
  postMessage(answer: unknown): void;
};

self.onmessage = ({ data: { files, before } }) => {
  try {
    self.postMessage({ parsed: parseFiles(files, before) });
  } catch (error) {
    self.postMessage({ error: error instanceof Error ? error.message : String(error) });
  }
};
