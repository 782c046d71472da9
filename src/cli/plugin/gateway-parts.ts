import type { ConformanceHost } from '../../conformance/host.ts';
import { selectTop } from '../../routing/rank.ts';
import { frameParser } from '../../upstream/frames.ts';
import { callHeaders } from '../../upstream/http-request.ts';

/** The parts of the gateway that plugins are tried with: the same as when it serves. */
export const host: ConformanceHost = {
  rank: selectTop,
  frames: (kind) => frameParser(kind),
  headers: (adapter, own, apiKey) => callHeaders(adapter, own, { adapter, apiKey, dial: null }, true),
};
