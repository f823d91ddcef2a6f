// The Python client in every situation of the table.
import { describeCases } from './cases.ts';
import { pythonDriver } from './drivers.ts';

describeCases('the Python client', pythonDriver());
