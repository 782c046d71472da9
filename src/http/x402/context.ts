import type { X402Gateway } from '../../gateway/x402/gateway.ts';
import type { Repositories } from '../../store/repositories.ts';
import type { Store } from '../../store/store.ts';
import type { RouteContext } from '../context.ts';

/** The context of the routes of payments. */
export interface X402Context extends RouteContext {
  readonly gateway: X402Gateway;
  /** Where grants of operators to wallets are written. */
  readonly store: Pick<Store, 'commit'> & Pick<Repositories, 'trail'>;
}
