import { frameParser } from '../../providers/frames.ts';
import { callHeaders } from '../../providers/http-request.ts';
import { selectTop } from '../../routing/rank.ts';
import type { ConformanceHost } from '../conformance/host.ts';

/** The parts of the gateway with which plugins are tested. The parts are the same as in a running server. */
export const host: ConformanceHost = {
  rank: selectTop,
  frames: (kind) => frameParser(kind),
  headers: (adapter, own, apiKey) => callHeaders(adapter, own, { adapter, apiKey, dial: null }, true),
};
