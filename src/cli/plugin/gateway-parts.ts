import type { ConformanceHost } from '../../conformance/host.ts';
import { selectTop } from '../../routing/rank.ts';
import { frameParser } from '../../upstream/frames.ts';
import { callHeaders } from '../../upstream/http-request.ts';

/** What plugins are tried with: the parts of the gateway that they meet when it serves. */
export const host: ConformanceHost = {
  rank: selectTop,
  frames: (kind) => frameParser(kind),
  headers: (adapter, own, apiKey) => callHeaders(adapter, own, { adapter, apiKey, dial: null }, true),
};
