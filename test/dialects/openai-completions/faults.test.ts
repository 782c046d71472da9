import { faultMatrix } from '../../fault/matrix.ts';
import { CALLER } from './caller.ts';

faultMatrix('faults-completions', CALLER, 20);
