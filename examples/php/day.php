<?php
// A day of the ERP against a sandbox, from the first sale to the day close, with every recipe of docs/erp-guide.md:
//   php examples/php/day.php [data/sandbox.json]
declare(strict_types=1);

require_once __DIR__ . '/Erp.php';

$sandbox = json_decode((string) file_get_contents($argv[1] ?? 'data/sandbox.json'), true, 512, JSON_THROW_ON_ERROR);
$idOf = fn (string $kind) => current(array_filter($sandbox['devices'], fn ($device) => $device['kind'] === $kind))['id'];
[$terminal, $register] = [$idOf('terminal'), $idOf('register')];
$gate = new Tillgate($sandbox['baseUrl'], $sandbox['apiKey']);
$file = tempnam(sys_get_temp_dir(), 'erp');
unlink($file);
$till = fn () => new Erp($gate, $terminal, $register, $file);
$erp = $till();
$fault = fn (string $name) => ["Tillgate-Fault: $name"];

/** Ends the day with a message when an answer is not what it should be. */
function must(int $errorCode, array $answer, string $what): array
{
    if ($answer['errorCode'] !== $errorCode) {
        fwrite(STDERR, "$what: expected $errorCode, got " . json_encode($answer) . "\n");
        exit(1);
    }
    return $answer;
}

function mustBe(string $expected, string $state, string $what): void
{
    if ($state !== $expected) {
        fwrite(STDERR, "$what: expected $expected, got $state\n");
        exit(1);
    }
}

function done(string $what): void
{
    echo "ok  $what\n";
}

must(0, $gate->get('Device/Device/Status', ['DeviceID' => $terminal]), 'status');
must(0, $gate->post('Device/Money/In', 'open-' . uuid(), ['DeviceID' => $register, 'Amount' => '500', 'Reason' => 'Change']), 'cash in');
done('the day is open');

$sale = $erp->newSale('150.50');
must(0, $erp->pay($sale), 'pay');
must(0, $erp->closeDoc($sale), 'close');
must(0, $erp->printReceipt($sale), 'print');
must(22, $erp->printReceipt($sale, [['PaymentCode' => 0]]), 'another receipt under the same Uid');
done('a sale by card');

$sale = $erp->newSale('80');
must(0, $erp->pay($sale), 'pay');
must(0, $erp->closeDoc($sale), 'close');
must(0, $erp->refund($sale, '30.50'), 'refund, before the receipt is printed');
must(40, $erp->refund($sale, '49.51'), 'more than is left');
must(0, $erp->printReceipt($sale), 'print what is left');
done('a refund');

// The till dies while it refunds: whether the refund was sent or not, there is one refund in the end.
$sale = $erp->newSale('60');
must(0, $erp->pay($sale), 'pay');
must(0, $erp->closeDoc($sale), 'close');
$child = pcntl_fork();
if ($child === 0) {
    $erp->refund($sale, '9.99');
    exit(0);
}
while (!isset(json_decode((string) file_get_contents($file), true)[$sale]['refund']) && pcntl_waitpid($child, $status, WNOHANG) === 0) {
    usleep(1_000);
}
usleep(20_000);
posix_kill($child, SIGKILL);
pcntl_waitpid($child, $status);
$erp = $till();
$erp->recover();
$erp->recover();
$paid = must(0, $gate->get('Device/Operation/Status', ['documentNr' => $sale]), 'the refunded payment');
mustBe('50.01', (string) $paid['Remainder'], 'what the gateway has left');
mustBe('50.01', $erp->amount($sale), 'what the till has left');
must(0, $erp->refund($sale, '50.01'), 'refund the rest');
mustBe('refunded', $erp->state($sale), 'nothing is left');
done('the till failed while it refunded');

// The till loses its memory of what it did: only the gateway knows that the money was returned.
foreach (['Refunded' => 'refunded', 'Voided' => 'voided'] as $State => $state) {
    $sale = $erp->newSale('7');
    $paid = reportOf(must(0, $erp->pay($sale), 'pay'));
    $payment = ['DeviceID' => $terminal, 'documentNr' => $sale, 'operationId' => $paid['operationId'], 'amount' => '7'];
    must(0, $gate->post('Device/payment/CloseDoc', "close-$sale", array_diff_key($payment, ['amount' => 1])), 'close');
    match ($State) {
        'Refunded' => must(0, $gate->post('Device/payment/Refund', "back-$sale", [...$payment, 'rrn' => $paid['rrn']]), 'refund all'),
        'Voided' => must(0, $gate->post('Device/payment/CancelTransaction', "back-$sale", [...$payment, 'token' => $paid['token']]), 'void'),
    };
    $erp->recover();
    mustBe($state, $erp->state($sale), 'recovered');
    mustBe($State, must(22, $erp->pay($sale), 'pay again')['State'], 'the payment');
    mustBe($state, $erp->state($sale), 'paid again');
}
done('money that was returned is not paid');

$invoice = must(0, $gate->post('Invoice/Create', 'qr-' . uuid(), [
    'ValidTo' => date(DATE_ATOM, time() + 86400), // with its offset
    'Receipt' => ['Items' => [['Name' => 'Coffee', 'Quantity' => 1, 'Price' => '35.00']]],
]), 'create');
must(0, $gate->get('Invoice/Status', ['QR' => $invoice['QR']]), 'invoice status');
must(0, $gate->get('Invoice/Get', ['QR' => $invoice['QR']]), 'scan');
must(0, $gate->get('Invoice/Payd', ['QR' => $invoice['QR'], 'ReceiptID' => 'F-1', 'DeviceID' => $register]), 'payd');
done('a sale by QR, valid until ' . $invoice['ValidTo']);

$unwanted = must(0, $gate->post('Invoice/Create', 'qr-' . uuid(), ['Receipt' => ['Items' => [['Name' => 'Tea', 'Quantity' => 1, 'Price' => 20]]]]), 'create');
$withdraw = ['DeviceID' => $terminal, 'documentNr' => $unwanted['OID'], 'operationId' => 'none', 'token' => '', 'amount' => 20];
must(0, $gate->post('Device/payment/CancelTransaction', 'withdraw-' . $unwanted['OID'], $withdraw), 'withdraw');
must(22, $gate->get('Invoice/Get', ['QR' => $unwanted['QR']]), 'a withdrawn QR');
done('a QR that is not wanted any more');

$sale = $erp->newSale('20');
must(50, $erp->pay($sale, $fault('declined')), 'declined');
must(0, $erp->pay($sale), 'another card');
must(0, $erp->closeDoc($sale), 'close');
must(0, $erp->printReceipt($sale), 'print');
done('a card that is declined');

$sale = $erp->newSale('20.50');
must(0, $erp->pay($sale), 'pay');
must(0, $erp->closeDoc($sale), 'close');
must(50, $erp->printReceipt($sale, [], $fault('paper-out')), 'out of paper');
must(0, $erp->printReceipt($sale), 'print again');
done('paid but not printed');

$sale = $erp->newSale('15');
must(0, $erp->printReceipt($sale, [['PaymentCode' => 3]]), 'print first');
must(50, $erp->pay($sale, $fault('declined')), 'declined');
must(0, $erp->pay($sale), 'another card');
must(0, $erp->closeDoc($sale), 'close');
done('printed but not paid');

$sale = $erp->newSale('25');
$child = pcntl_fork();
if ($child === 0) {
    exit($erp->pay($sale, $fault('slow'))['errorCode'] === 50 ? 0 : 1);
}
do {
    usleep(200_000);
} while ($gate->get('Device/Operation/Status', ['documentNr' => $sale])['errorCode'] === 20);
must(0, $erp->stop($sale), 'stop');
pcntl_waitpid($child, $status);
must(0, ['errorCode' => pcntl_wexitstatus($status)], 'the stopped payment');
done('the customer left');

$sale = $erp->newSale('35');
must(0, $erp->pay($sale, $fault('crash-after-bank')), 'the terminal lost its power');
must(0, $erp->closeDoc($sale), 'close');
must(0, $erp->printReceipt($sale), 'print');
done('the terminal failed');

$sale = $erp->newSale('12');
must(0, $erp->pay($sale), 'pay');
$erp = $till(); // the till dies and starts anew
$erp->recover();
must(0, $erp->closeDoc($sale), 'close');
must(0, $erp->printReceipt($sale), 'print');
done('the till failed between Pay and CloseDoc');

$sale = $erp->newSale('100');
must(0, $erp->pay($sale), 'pay');
must(0, $erp->closeDoc($sale), 'close');
must(0, $erp->refund($sale, '90'), 'refund the difference');
must(0, $erp->printReceipt($sale), 'print what is left');
$sale = $erp->newSale('33');
must(0, $erp->pay($sale), 'pay');
must(0, $erp->void($sale), 'void all of it');
must(22, $gate->get('Device/Operation/Status', ['documentNr' => $sale]), 'a voided payment');
done('the wrong amount was charged');

$sale = $erp->newSale('18');
must(0, $erp->pay($sale), 'pay');
$day = 'day-' . uuid();
must(31, $gate->post('Device/payment/closeDay', $day, ['DeviceID' => $terminal]), 'something is open');
must(0, $erp->closeDoc($sale), 'close');
must(0, $erp->printReceipt($sale), 'print');
$bank = reportOf(must(0, $gate->post('Device/payment/closeDay', $day, ['DeviceID' => $terminal]), 'close the bank day'));
$z = reportOf(must(0, $gate->post('Device/Report/Create', "z-$day", ['DeviceID' => $register, 'Fiscal' => true]), 'Z'));
done("the day is closed: the bank has {$bank['amount']}, the Z has {$z['totals']['card']} under card");

unlink($file);
