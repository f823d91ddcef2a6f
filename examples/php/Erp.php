<?php
// A small ERP: sales that are written down before the first request, and what it does with each answer.
declare(strict_types=1);

require_once __DIR__ . '/Tillgate.php';

final class Erp
{
    /** Sale by number: what survives a crash of the till. */
    private array $sales = [];

    public function __construct(
        private Tillgate $gate,
        private string $terminal,
        private string $register,
        private string $file,
    ) {
        $this->sales = is_file($file) ? json_decode((string) file_get_contents($file), true) : [];
    }

    /** Amounts are texts: "35.50". */
    public function newSale(string $amount, string $text = 'Coffee'): string
    {
        $number = uuid();
        $this->store($number, ['amount' => $amount, 'text' => $text, 'state' => 'new', 'tries' => 0]);
        return $number;
    }

    public function amount(string $number): string
    {
        return $this->sales[$number]['amount'];
    }

    public function state(string $number): string
    {
        return $this->sales[$number]['state'];
    }

    /** Each try has a new key and keeps the number: what was done is not done again, and what was refused is tried anew. */
    public function pay(string $number, array $headers = []): array
    {
        $sale = $this->store($number, ['tries' => $this->sales[$number]['tries'] + 1]);
        $key = "pay-$number-{$sale['tries']}";
        $body = ['DeviceID' => $this->terminal, 'amount' => $sale['amount'], 'documentNr' => $number];
        $answer = $this->gate->post('Device/payment/Pay', $key, $body, $headers);
        return $this->paid($number, $answer['errorCode'] === 3 ? $this->gate->waitFor(['documentNr' => $number]) : $answer);
    }

    /** The till asks for every sale that it left open: after a crash, before anything new. */
    public function recover(): void
    {
        foreach ($this->sales as $number => $sale) {
            if (in_array($sale['state'], ['new', 'unknown', 'approved'], true) && $sale['tries'] > 0) {
                $this->paid($number, $this->gate->waitFor(['documentNr' => $number]));
            }
            if (isset($sale['refund'])) {
                $this->finishRefund($number);
            }
        }
    }

    public function closeDoc(string $number, array $headers = []): array
    {
        $body = $this->operation($number);
        $answer = $this->gate->post('Device/payment/CloseDoc', "close-$number-" . uuid(), $body, $headers, 75);
        if ($answer['errorCode'] === 0) {
            $this->store($number, ['state' => 'paid']);
        }
        return $answer;
    }

    public function printReceipt(string $number, array $payments = [], array $headers = []): array
    {
        $sale = $this->sales[$number];
        $receipt = [
            'Uid' => $number,
            'Items' => [['Name' => $sale['text'], 'Quantity' => 1, 'Price' => $sale['amount']]],
            'Payments' => $payments === [] ? [['PaymentCode' => 1, 'documentNr' => $number]] : $payments,
        ];
        $body = ['DeviceID' => $this->register, 'Receipt' => $receipt];
        $answer = $this->gate->post('Device/Invoice/Pay', "print-$number-" . uuid(), $body, $headers);
        if ($answer['errorCode'] === 3) {
            $answer = $this->gate->waitFor(['ReceiptUid' => $number]);
        }
        if ($answer['errorCode'] === 0) {
            $this->store($number, ['receiptId' => reportOf($answer)['receiptId']]);
        }
        return $answer;
    }

    /** The key is stored before the request: after a crash or an answer 3 the same refund is sent again; a new key would be a second one. */
    public function refund(string $number, string $amount): array
    {
        if (isset($this->sales[$number]['refund'])) {
            throw new LogicException("The refund before is not known yet: recover() finishes it.");
        }
        $this->store($number, ['refund' => ['key' => "refund-$number-" . uuid(), 'amount' => $amount]]);
        return $this->finishRefund($number);
    }

    private function finishRefund(string $number): array
    {
        ['key' => $key, 'amount' => $amount] = $this->sales[$number]['refund'];
        $body = [...$this->operation($number), 'rrn' => $this->sales[$number]['rrn'], 'amount' => $amount];
        $answer = $this->gate->post('Device/payment/Refund', $key, $body, [], 75);
        if ($answer['errorCode'] === 3) {
            $answer = $this->gate->waitFor(['IdempotencyKey' => $key]);
        }
        if ($answer['errorCode'] === 0) {
            $left = bani($this->sales[$number]['amount']) - bani($amount);
            $state = $left === 0 ? ['state' => 'refunded'] : [];
            $this->store($number, ['amount' => sprintf('%d.%02d', intdiv($left, 100), $left % 100), 'refund' => null, ...$state]);
        } elseif (in_array($answer['errorCode'], [22, 40, 50], true)) {
            $this->store($number, ['refund' => null]);
        }
        return $answer;
    }

    public function void(string $number): array
    {
        $sale = $this->sales[$number];
        $body = [...$this->operation($number), 'token' => $sale['token'], 'amount' => $sale['amount']];
        $answer = $this->gate->post('Device/payment/CancelTransaction', "void-$number-" . uuid(), $body, [], 75);
        if ($answer['errorCode'] === 0) {
            $this->store($number, ['state' => 'voided']);
        }
        return $answer;
    }

    /** Stops a payment that waits for the card; it has no operationId yet. */
    public function stop(string $number): array
    {
        $body = ['DeviceID' => $this->terminal, 'documentNr' => $number, 'operationId' => 'none', 'token' => ''];
        return $this->gate->post('Device/payment/CancelTransaction', 'stop-' . uuid(), [...$body, 'amount' => $this->sales[$number]['amount']], [], 75);
    }

    private function operation(string $number): array
    {
        return ['DeviceID' => $this->terminal, 'documentNr' => $number, 'operationId' => $this->sales[$number]['operationId']];
    }

    private function paid(string $number, array $answer): array
    {
        // State says what the payment is now, with errorCode 0 and with 22 to another Pay. Without it, errorCode decides.
        $state = match ($answer['State'] ?? '') {
            'Done' => 'approved',
            'Closed' => 'paid',
            'Refunded' => 'refunded',
            'Voided' => 'voided',
            'Open', 'Disputed' => 'unknown',
            default => match ($answer['errorCode']) {
                0 => 'approved',
                20, 30, 31, 50 => 'new',
                default => 'unknown',
            },
        };
        $report = $answer['errorCode'] === 0 ? reportOf($answer) : [];
        $known = array_intersect_key($report, ['operationId' => 1, 'rrn' => 1, 'token' => 1]);
        $this->store($number, ['state' => $state, ...$known]);
        return $answer;
    }

    private function store(string $number, array $change): array
    {
        $this->sales[$number] = [...($this->sales[$number] ?? []), ...$change];
        file_put_contents("$this->file.new", json_encode($this->sales, JSON_THROW_ON_ERROR));
        rename("$this->file.new", $this->file);
        return $this->sales[$number];
    }
}
