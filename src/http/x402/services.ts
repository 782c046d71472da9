import type { X402Gateway } from '../../money/x402/gateway.ts';
import type { GrantStore } from '../../operate/keys.ts';
import type { RouteServices } from '../route-services.ts';

/** The services of the routes of payments. */
export interface X402Services extends RouteServices {
  readonly gateway: X402Gateway;
  /** Where grants of operators to wallets are written. */
  readonly store: GrantStore;
}
