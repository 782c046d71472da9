import { faultMatrix } from '../../fault/matrix.ts';
import { CALLER } from './caller.ts';

faultMatrix('faults-gemini', CALLER, 60);
