import type { X402Gateway } from '../../gateway/x402/gateway.ts';
import type { Repositories } from '../../store/repositories.ts';
import type { Store } from '../../store/store.ts';
import type { RouteServices } from '../route-services.ts';

/** The context of the routes of payments. */
export interface X402Services extends RouteServices {
  readonly gateway: X402Gateway;
  /** Where grants of operators to wallets are written. */
  readonly store: Pick<Store, 'commit'> & Pick<Repositories, 'trail'>;
}
