;;; Threads that share a counter, a queue and a pair of semaphores, and allocate while others
;;; collect garbage. The argument says how often.
(use-package :sb-thread)

(defvar *times* (parse-integer (second sb-ext:*posix-argv*)))

(defun threads (number work)
  (loop for at below number
        collect (let ((at at)) (make-thread (lambda () (funcall work at))))))

(defun results (threads) (mapcar #'join-thread threads))

(defun count-together (mutex)
  (let ((count 0))
    (results (threads 8 (lambda (at)
                          (declare (ignore at))
                          (dotimes (turn (* 10000 *times*))
                            (with-mutex (mutex) (incf count))))))
    count))

(defun queue-together (mutex waiters)
  (let ((queue '()) (producing 4))
    (flet ((produce (at)
             (dotimes (item (* 1500 *times*))
               (with-mutex (mutex)
                 (push (+ item at) queue)
                 (condition-notify waiters)))
             (with-mutex (mutex)
               (decf producing)
               (condition-broadcast waiters)))
           (consume (at)
             (declare (ignore at))
             (let ((sum 0))
               (loop
                 (let ((item (with-mutex (mutex)
                               (loop
                                 (when queue (return (pop queue)))
                                 (when (zerop producing) (return nil))
                                 (condition-wait waiters mutex)))))
                   (unless item (return sum))
                   (incf sum item))))))
      (let ((producers (threads 4 #'produce)) (consumers (threads 4 #'consume)))
        (results producers)
        (reduce #'+ (results consumers))))))

(defun answer-each-other (one other)
  (let ((rounds (* 1500 *times*)))
    (let ((answering (threads 1 (lambda (at)
                                  (declare (ignore at))
                                  (dotimes (turn rounds)
                                    (wait-on-semaphore one)
                                    (signal-semaphore other))))))
      (dotimes (turn rounds)
        (signal-semaphore one)
        (wait-on-semaphore other))
      (results answering)
      (+ (semaphore-count one) (semaphore-count other)))))

(defun collect-meanwhile ()
  (let ((allocating (threads 4 (lambda (at)
                                 (declare (ignore at))
                                 (loop repeat (* 2000 *times*) sum (length (make-list 50)))))))
    (dotimes (turn (* 2 *times*)) (sb-ext:gc))
    (reduce #'+ (results allocating))))

(format t "~a counted~%" (count-together (make-mutex)))
(format t "~a queued~%" (queue-together (make-mutex) (make-waitqueue)))
(format t "~a left~%" (answer-each-other (make-semaphore) (make-semaphore)))
(format t "~a allocated~%" (collect-meanwhile))
