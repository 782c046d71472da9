import { LineLimit } from '../../telemetry/line-limit.ts';
import type { Observation } from './observation.ts';

/** Refusals a minute that are told of, of whom nobody knows. */
const STRANGERS_MAX = 60;

/** Whoever has no key can send requests by the thousand: what is told of them must not drown what is told of others. */
export class Strangers extends LineLimit {
  constructor() {
    super(STRANGERS_MAX);
  }
}

/** Nobody was known, and nobody was served; what goes wrong here is told of everybody. */
export const isStranger = ({ keyId, status }: Observation): boolean =>
  keyId === null && (status === 0 || (status >= 400 && status < 500));
