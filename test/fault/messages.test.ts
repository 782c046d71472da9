import { faultMatrix } from './matrix.ts';
import { messages } from './surfaces.ts';

faultMatrix('faults-messages', messages, 60);
