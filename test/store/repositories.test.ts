import { overEach } from './implementations.ts';
import { accessSuite } from './suites/access.ts';
import { paymentSuite } from './suites/payments.ts';

overEach((open) => {
  accessSuite(open);
  paymentSuite(open);
});
