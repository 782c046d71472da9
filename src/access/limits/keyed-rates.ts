import { createHmac } from 'node:crypto';
import { type RateGrant, type RateStore, rateOrder } from '../../store/rates.ts';

/**
 * Replaces subjects by their keyed hash. The subject of an endpoint contains a hash of its API key, which the database must not have.
 * @param secret the secret of the database, so that all servers compute the same hash
 */
export const keyedRates = (rates: Pick<RateStore, 'take'>, secret: Uint8Array): Pick<RateStore, 'take'> => ({
  async take(demands) {
    const hidden = demands.map((demand, at) => {
      const subject = createHmac('sha256', secret).update(`endpoint\0${demand.subject}`).digest('base64url');
      return { at, demand: { ...demand, subject } };
    });
    // The store needs the order of the hashes, and the caller needs the grants in its own order.
    hidden.sort((a, b) => rateOrder(a.demand, b.demand));
    const granted = await rates.take(hidden.map(({ demand }) => demand));
    const grants: RateGrant[] = [];
    for (const [index, { at }] of hidden.entries()) grants[at] = granted[index]!;
    return grants;
  },
});
